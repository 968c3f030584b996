// The part of mpmsegment without GStreamer: turns frames into drawings and measurements.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/stopwatch.hpp"
#include "pipeline/draw/palette.hpp"
#include "pipeline/objects/tracker.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/watch/alert.hpp"

namespace mpm::gst {

enum class Output { Overlay, Labels, Map };

/// The element's properties.
struct Settings {
    std::string model = "default";
    std::string blocks;  ///< such as "2,5" or "none"; empty: the model's schedule
    std::string precision = "f32", device = "auto", reuse = "off";
    Output output = Output::Overlay;
    double opacity = 0.55;
    std::string alertClass;  ///< empty: no alert
    double alertShare = 0.1;
    double threshold = -1;  ///< objects have larger scores; negative: usualThreshold()
    std::string objects;    ///< classes, such as "car,person"; empty: all (detector) or none (segmentation)
    unsigned alertHoldMs = 0;
};

/// Thrown if a property cannot be used. The message begins with the property's name.
class SettingsError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// An object in a frame. Only a tracked object has an identity.
struct FrameObject {
    Detection found;
    std::string name;
    std::int64_t id = 0;  ///< 0: none
    double since = 0;     ///< time in the stream, in seconds, at which the object was first seen
};

struct FrameFigures {
    std::vector<int> tokens;  ///< image tokens that enter each block
    double totalMs = 0, networkMs = 0, mergeMs = 0, restoreMs = 0, recomputed = 1;
    std::vector<std::string> classes;
    std::vector<double> shares;        ///< the share of the pixels of each class
    cv::Mat labels;                    ///< class ids, CV_8U or CV_16U; empty if the model has no classes
    std::vector<FrameObject> objects;  ///< objects of a detector, or regions of the chosen classes
    std::vector<pipeline::Alert> alerts;
};

/// A model with the element's settings. Only a single thread at a time may use an engine.
class Engine {
public:
    /// Reads the model. Throws pipeline::ModelError or SettingsError.
    explicit Engine(const Settings& settings);

    /// Applies all settings except the model. May be called between frames. If a setting is invalid, throws
    /// SettingsError and keeps the earlier settings.
    void apply(const Settings& settings);

    /// Drops all tracks and restarts the hold time of alerts. Call it before the first frame after a seek.
    void restart();

    /// Segments a frame. `image`: CV_8UC3, BGR. `out`: of the image's size; CV_8UC1 to receive labels,
    /// CV_8UC3 to receive the overlay or the merge map. `seconds`: time in the stream; NaN if unknown.
    FrameFigures process(const cv::Mat& image, double seconds, cv::Mat& out);

private:
    void applyEncoder(const Settings& settings);
    void applyAlert(const Settings& settings);
    void applyObjects(const Settings& settings);
    std::vector<FrameObject> follow(const pipeline::Segmentation& found, double seconds, cv::Size image);
    void draw(const cv::Mat& image, const pipeline::Segmentation& found,
              const std::vector<FrameObject>& objects, cv::Mat& out) const;
    void drawObjects(const std::vector<FrameObject>& objects, cv::Mat& drawn) const;
    void addShares(const pipeline::Segmentation& found, FrameFigures& figures);

    pipeline::Segmenter m_segmenter;
    std::vector<int> m_schedule;  ///< the schedule of the model file
    Settings m_settings;
    pipeline::AlertWatch m_alerts;
    std::vector<int> m_classes;  ///< ids of the classes whose objects are followed
    std::optional<pipeline::ObjectTracker> m_tracker;
    double m_threshold = 0, m_lastSeconds = 0;
    Stopwatch m_sinceLast;
};

}  // namespace mpm::gst
