// The objects of `mpm run`, their tracks, and the files with objects and tracks. An object is a box of a
// detector, or a box around a region of a class.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::cli {

struct FrameResult;
struct RunDescription;
struct RunOptions;
struct SaveChoice;

/// Selects the objects of a frame by class and score, and tracks them.
class ObjectFinder {
public:
    /// Throws Error(kWrongUse) if --classes names a class that the model does not have, or if it is unknown
    /// which classes of a segmentation model are objects.
    ObjectFinder(const mpm::ModelInfo& info, const RunOptions& options, bool tracks);

    /// Returns which detections find() needs; tracking also needs boxes with lower scores.
    pipeline::DetectionChoice choice() const;
    void find(FrameResult& result);
    void forget();  ///< must be called before frames of another source
    /// Returns a row of text for each counting line: how often objects crossed it.
    std::string crossingText() const;

private:
    const double m_nms, m_threshold;
    const bool m_tracks;
    std::vector<int> m_classes;  ///< empty: all
    const std::vector<pipeline::CountingLine> m_lines;
    std::optional<pipeline::ObjectTracker> m_tracker;
};

std::vector<pipeline::DrawnBox> drawnBoxes(const FrameResult& result, const RunDescription& run);

/// The files detections.jsonl, tracks.jsonl and tracks.txt (MOTChallenge's format), with a line for each
/// frame or box. The lines of a frame are written before the next frame begins.
class ObjectFiles {
public:
    ObjectFiles(const RunOptions& options, const mpm::ModelInfo& info, const SaveChoice& save);
    void add(const FrameResult& result);

private:
    void addRows(std::unique_ptr<RowFile>& file, const char* name, const std::string& rows);

    const RunOptions& m_options;
    const mpm::ModelInfo& m_info;
    const bool m_boxes, m_tracks;
    std::unique_ptr<RowFile> m_boxLines, m_trackLines, m_trackRows;
};

}  // namespace mpm::cli
