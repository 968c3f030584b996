// Files of `mpm run`: images of each frame, tables of all frames.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/chart/timeline.hpp"
#include "pipeline/draw/feature_colours.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/draw/palette.hpp"
#include "pipeline/objects/tracker.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/source/source.hpp"
#include "pipeline/store/store.hpp"

namespace mpm::cli {

/// The files to write: a member for each word of --save.
struct SaveChoice {
    bool labels = false, overlay = false, map = false, csv = false, jsonl = false, panels = false,
         timeline = false, reuse = false, stages = false, boxes = false, tracks = false;

    static SaveChoice parse(const std::string& text);
    bool images() const { return labels || overlay || map || panels || reuse || stages; }
};

struct FrameResult {
    pipeline::Frame frame;
    pipeline::Segmentation segmentation;
    std::vector<Detection> objects;  ///< boxes of a detector, or regions of classes, above the threshold
    std::vector<pipeline::TrackedObject> tracks;
    std::vector<pipeline::LineCounts> crossings;  ///< for each counting line: counts up to this frame
    pipeline::Measurement measurement;
    cv::Mat featureColours;  ///< CV_8UC3, a pixel for each patch; only if the model has no classes
    std::string clock;       ///< for the footer of images: "06:30" in the built-in street, else empty
};

/// Values that are the same for all frames of a run.
struct RunDescription {
    std::vector<std::string> labels;
    pipeline::Palette palette;
    int stages = 0;
    bool reuse = false;
    std::string notice;  ///< written on every image: "random weights"
    double opacity = 0.55;
    pipeline::MergeMapStyle map;
    bool tracks = false;  ///< whether overlays show identities
};

/// Draws the classes, features or objects of a frame over its image.
cv::Mat overlayOf(const FrameResult& result, const RunDescription& run);

/// Draws and writes the chosen images of a frame, each atomically. Throws Error(kFailed).
void writeImages(const std::string& folder, const FrameResult& result, const RunDescription& run,
                 const SaveChoice& save);

/// The table tokens.csv or tokens.jsonl. The line of a frame is written before the next frame begins.
class TokenTable {
public:
    enum class Form { Csv, JsonLines };
    TokenTable(std::ostream& out, Form form, const RunDescription& run);
    TokenTable(std::string path, Form form, const RunDescription& run);
    void add(const FrameResult& result);

private:
    void write(std::string row, bool detector);

    std::ostream* m_out = nullptr;
    std::string m_path;
    std::unique_ptr<RowFile> m_file;
    bool m_begun = false;
    Form m_form;
    const RunDescription& m_run;
};

}  // namespace mpm::cli
