#include "gstreamer/engine.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <mpm/precisions.hpp>
#include <mpm/read_net.hpp>

#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::gst {

namespace {

constexpr size_t kMostDigits = 6;

bool isNumber(const std::string& text) {
    return !text.empty() && text.size() <= kMostDigits &&
           text.find_first_not_of("0123456789") == std::string::npos;
}

std::vector<int> blocksFrom(const std::string& text) {
    std::vector<int> blocks;
    if (text == "none") return blocks;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        if (!isNumber(part))
            throw SettingsError("blocks: expected numbers such as 2,5, or none, got \"" + text + "\"");
        blocks.push_back(std::stoi(part));
    }
    return blocks;
}

void setDevice(mpm::Encoder& encoder, const std::string& text) {
    if (text == "auto") return encoder.setDevice(Device::Auto);
    if (text == "cpu") return encoder.setDevice(Device::Cpu);
    if (text == "cuda") return encoder.setDevice(Device::Cuda);
    if (text.rfind("cuda:", 0) == 0 && isNumber(text.substr(5)))
        return encoder.setDevice(Device::Cuda, std::stoi(text.substr(5)));
    throw SettingsError("device: expected cpu, cuda, cuda:N or auto, got \"" + text + "\"");
}

void setPrecision(mpm::Encoder& encoder, const std::string& text) {
    const std::optional<Precision> precision = pipeline::precisionFrom(text);
    if (!precision)
        throw SettingsError("precision: expected " + mpm::precisionNames() + ", got \"" + text + "\"");
    encoder.setPrecision(*precision);
}

/// Runs `set`. An exception of the library becomes a SettingsError with the property's name.
template <class Set>
void property(const char* name, const Set& set) {
    try {
        set();
    } catch (const cv::Exception& error) {
        throw SettingsError(std::string(name) + ": " + error.err);
    }
}

}  // namespace

Engine::Engine(const Settings& settings) : m_segmenter(pipeline::Network(settings.model)) {
    m_schedule = m_segmenter.encoder().schedule();
    applyEncoder(settings);
    applyAlert(settings);
    applyObjects(settings);
    m_settings = settings;
}

void Engine::apply(const Settings& settings) {
    const Settings before = m_settings;
    try {
        applyEncoder(settings);
        applyAlert(settings);
        if (settings.objects != before.objects || settings.threshold != before.threshold)
            applyObjects(settings);
    } catch (...) {
        applyEncoder(before);
        applyAlert(before);
        throw;
    }
    m_settings = settings;
}

void Engine::applyEncoder(const Settings& settings) {
    mpm::Encoder& encoder = m_segmenter.encoder();
    const std::vector<int> blocks = settings.blocks.empty() ? m_schedule : blocksFrom(settings.blocks);
    property("blocks", [&] { encoder.setSchedule(blocks); });
    property("device", [&] { setDevice(encoder, settings.device); });
    property("precision", [&] { setPrecision(encoder, settings.precision); });
    property("reuse",
             [&] { encoder.setReuse(mpm::reuseFrom(settings.reuse, m_segmenter.network().reuse())); });
}

/// Sets the classes and the threshold of objects. Drops all tracks.
void Engine::applyObjects(const Settings& settings) {
    std::vector<std::string> names;
    std::istringstream parts(settings.objects);
    for (std::string part; std::getline(parts, part, ',');)
        names.push_back(part);
    try {
        m_classes = pipeline::classesNamed(m_segmenter.info().labels, names);
    } catch (const std::invalid_argument& error) {
        throw SettingsError("objects: " + std::string(error.what()));
    }
    const bool detects = m_segmenter.network().detects();
    m_threshold = settings.threshold < 0 ? pipeline::usualThreshold(detects) : settings.threshold;
    const pipeline::TrackRules rules = pipeline::trackRules(m_threshold);
    pipeline::DetectionChoice choice;
    choice.threshold = rules.low;  // boxes with a low score can continue a track
    m_segmenter.setDetections(choice);
    m_tracker.emplace(rules);
}

void Engine::applyAlert(const Settings& settings) {
    if (settings.alertClass.empty()) return m_alerts.setRules({});
    const std::vector<std::string>& labels = m_segmenter.info().labels;
    if (std::find(labels.begin(), labels.end(), settings.alertClass) == labels.end())
        throw SettingsError("alert-class: the model has no class \"" + settings.alertClass + "\"");
    pipeline::AlertRule rule;
    rule.name = settings.alertClass;
    rule.of = pipeline::AlertRule::Of::ClassShare;
    rule.label = settings.alertClass;
    rule.threshold = settings.alertShare;
    rule.hold = std::chrono::milliseconds(settings.alertHoldMs);
    rule.coolDown = std::chrono::milliseconds(0);
    property("alert-share", [&] { m_alerts.setRules({rule}); });
}

void Engine::restart() {
    m_tracker.emplace(pipeline::trackRules(m_threshold));
    const std::vector<pipeline::AlertRule> rules = m_alerts.rules();
    m_alerts = {};
    m_alerts.setRules(rules);
}

std::vector<FrameObject> Engine::follow(const pipeline::Segmentation& found, double seconds, cv::Size image) {
    std::vector<Detection> boxes = found.detections;
    if (!found.labels.empty()) boxes = pipeline::regionObjects(found.labels, m_classes, 0, found.scores);
    pipeline::keepClasses(boxes, m_classes);
    // If a buffer has no time, adds the elapsed time to the time of the previous buffer.
    if (!std::isfinite(seconds)) seconds = m_lastSeconds + m_sinceLast.seconds();
    if (seconds < m_lastSeconds) restart();  // after a seek without a flush
    m_lastSeconds = seconds;
    m_sinceLast.restart();
    const auto tracks = m_tracker->update(boxes, seconds, image);
    std::vector<FrameObject> objects;
    for (const Detection& one : boxes) {
        FrameObject object{one, pipeline::className(m_segmenter.info().labels, one.label)};
        for (const pipeline::TrackedObject& track : tracks)
            if (track.seen && track.label == one.label && track.box == one.box && track.score == one.score)
                object.id = track.id, object.since = track.since;
        if (object.id != 0 || one.score > m_threshold) objects.push_back(std::move(object));
    }
    return objects;
}

void Engine::drawObjects(const std::vector<FrameObject>& objects, cv::Mat& drawn) const {
    const mpm::ModelInfo& info = m_segmenter.info();
    std::vector<Detection> found;
    for (const FrameObject& one : objects)
        found.push_back(one.found);
    auto boxes =
        pipeline::drawnBoxes(found, info.labels, pipeline::paletteOf(info.palette, info.labels, 256));
    for (size_t i = 0; i < boxes.size(); ++i) {
        if (objects[i].id != 0)
            boxes[i].text.insert(boxes[i].text.rfind(' '), " #" + std::to_string(objects[i].id));
        if (!m_segmenter.network().detects()) boxes[i].mask.release();  // the overlay already has colours
    }
    pipeline::drawBoxes(drawn, boxes, m_settings.opacity).copyTo(drawn);
}

void Engine::draw(const cv::Mat& image, const pipeline::Segmentation& found,
                  const std::vector<FrameObject>& objects, cv::Mat& out) const {
    if (out.type() == CV_8UC1) {
        if (found.labels.empty())
            throw SettingsError("output: the model has no classes, so there are no labels; use map");
        if (found.labels.type() != CV_8U)
            throw SettingsError("output: labels needs a model of at most 256 classes");
        found.labels.copyTo(out);
        return;
    }
    if (m_settings.output != Output::Map && found.detector) {
        image.copyTo(out);
        return drawObjects(objects, out);
    }
    if (m_settings.output == Output::Map || found.labels.empty()) {
        pipeline::MergeMapStyle style;
        style.opacity = m_settings.opacity;
        pipeline::drawMergeMap(image, found.tokens.map, found.grid, style).copyTo(out);
        return;
    }
    const int classes = std::max(256, static_cast<int>(m_segmenter.info().palette.size()));
    pipeline::OverlayStyle style;
    style.opacity = m_settings.opacity;
    const mpm::ModelInfo& info = m_segmenter.info();
    pipeline::drawOverlay(image, found.labels, pipeline::paletteOf(info.palette, info.labels, classes), style)
        .copyTo(out);
    if (!objects.empty()) drawObjects(objects, out);
}

void Engine::addShares(const pipeline::Segmentation& found, FrameFigures& figures) {
    if (found.labels.empty()) return;
    figures.labels = found.labels;
    figures.classes = m_segmenter.info().labels;
    figures.shares = pipeline::classShares(found.labels, static_cast<int>(figures.classes.size()));
    pipeline::AlertInput input;
    input.labels = figures.classes;
    input.classShares = figures.shares;
    // Measures the hold time of alerts in stream time, because a file may run faster or slower than a camera.
    const std::chrono::duration<double> time(m_lastSeconds);
    using Clock = pipeline::AlertWatch::Clock;
    figures.alerts =
        m_alerts.update(input, Clock::time_point(std::chrono::duration_cast<Clock::duration>(time)));
}

FrameFigures Engine::process(const cv::Mat& image, double seconds, cv::Mat& out) {
    const auto scores = m_classes.empty() ? pipeline::Scores::None : pipeline::Scores::Coarse;
    const pipeline::Segmentation found = m_segmenter.segment(image, scores);
    FrameFigures figures;
    figures.objects = follow(found, seconds, image.size());
    draw(image, found, figures.objects, out);
    figures.tokens = found.tokens.tokens;
    figures.totalMs = found.totalMs();
    figures.networkMs = found.networkMs;
    figures.mergeMs = found.encoder.merge;
    figures.restoreMs = found.encoder.restore;
    figures.recomputed = found.tokens.reuse.recomputed;
    addShares(found, figures);
    return figures;
}

}  // namespace mpm::gst
