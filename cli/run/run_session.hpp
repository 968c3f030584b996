// The loop of `mpm run`: takes frames from sources, segments them, and writes files and tables.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "cli/common/options.hpp"
#include "cli/run/frame_files.hpp"
#include "cli/run/object_files.hpp"
#include "pipeline/segment/protocol.hpp"
#include "pipeline/source/reader.hpp"

namespace mpm::cli {

struct RunOptions {
    CommonOptions common;
    std::string model;
    std::vector<std::string> words;  ///< sources on the command line
    std::string sourceFrom;          ///< a file of more sources
    std::vector<pipeline::Address> sources;
    std::string out;  ///< folder; empty: the table goes to standard output
    std::optional<SaveChoice> save;
    cv::Size size;
    cv::Size window;      ///< distance between sliding windows of the model's size; empty: no windows
    int stride = 1;       ///< analyse every Nth frame
    double every = 0;     ///< seconds between analysed frames
    double duration = 0;  ///< seconds of each source; 0: to its end
    double opacity = 0.55;
    pipeline::MergeMapStyle::Colours mapColours = pipeline::MergeMapStyle::Colours::Mean;
    int dayCycle = 48;  ///< length of a day in the built-in street, in frames
    NightOption night;
    bool show = false;
    std::optional<double> threshold;   ///< least score of an object; absent: usualThreshold()
    double nms = 1;                    ///< largest overlap of objects; 1: keeps all
    std::vector<std::string> classes;  ///< classes of the objects; empty: all
    std::vector<pipeline::CountingLine> lines;
};

/// Shows an image; returns false if the user has closed the window.
using Show = std::function<bool(const cv::Mat& image)>;

class RunSession {
public:
    RunSession(const RunOptions& options, pipeline::Network network, Show show);

    /// Runs all sources, one after another. Returns the exit status.
    int run();

private:
    void runSource(const pipeline::Address& address);
    void leaveOut(const pipeline::SourceError& error);
    void runEveryFrame(pipeline::Source& source);
    void runLatest(const pipeline::Address& address);
    std::int64_t framesToRead(const pipeline::Source& source) const;
    bool due(const pipeline::Frame& frame);
    bool over(double seconds) const;
    void analyse(pipeline::Frame frame, double captureMs, std::int64_t dropped);
    void checkSave(const pipeline::Segmentation& first) const;
    void start(const FrameResult& first);
    void deliver(FrameResult& result);
    void finish();
    std::string summaryLine() const;
    std::string uniqueName(const std::string& name);
    void addToTimeline(pipeline::TimelinePoint point);

    const RunOptions& m_options;
    pipeline::Segmenter m_segmenter;
    std::optional<pipeline::WindowSegmenter> m_windows;  ///< if --window is given
    Show m_show;
    SaveChoice m_save;
    RunDescription m_description;
    pipeline::DayNight m_dayNight;
    pipeline::FeatureColours m_featureColours;  ///< the same in the whole run, so that images can be compared
    std::vector<TokenTable> m_tables;
    std::optional<ObjectFinder> m_objects;
    std::optional<ObjectFiles> m_objectFiles;
    pipeline::DayNightSums m_sums;
    std::vector<pipeline::TimelinePoint> m_timeline;  ///< every frame, or every m_timelineStep-th
    std::int64_t m_timelineStep = 1;
    std::vector<std::string> m_stageNames;
    std::set<std::string> m_names;  ///< names in use, so that no frame overwrites another's files
    pipeline::SourceKind m_kind = pipeline::SourceKind::ImageFiles;  ///< of the current source
    double m_nextDue = 0, m_networkMs = 0;
    std::int64_t m_frames = 0;
    std::int64_t m_bad = 0, m_broken = 0;  ///< numbers of skipped images and of other skipped sources
    int m_tokensIn = 0;
    bool m_started = false, m_closed = false;
    bool m_live = false;   ///< whether the current source is live: a camera or a stream
    bool m_scene = false;  ///< whether all sources are the built-in street; if so, files show hours
};

/// Throws Error(kFailed) if there is no display.
void checkDisplay();

/// Returns false if the user has pressed q or Escape, or closed the window.
bool showImage(const cv::Mat& image);

}  // namespace mpm::cli
