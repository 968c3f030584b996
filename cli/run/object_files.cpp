#include "cli/run/object_files.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/run/run_session.hpp"

namespace mpm::cli {

namespace {

using Json = nlohmann::ordered_json;

std::vector<int> classesNamed(const mpm::ModelInfo& info, const std::vector<std::string>& words) {
    try {
        return pipeline::classesNamed(info.labels, words);
    } catch (const std::invalid_argument& error) {
        throw Error(kWrongUse,
                    "--classes: " + std::string(error.what()) + "; 'mpm info MODEL' lists its classes");
    }
}

std::vector<int> things(const mpm::ModelInfo& info) {
    const std::vector<int> ids = pipeline::thingsAmong(info.labels);
    if (ids.empty())
        throw Error(kWrongUse, "--save boxes, tracks: name the classes that are objects with --classes");
    return ids;
}

std::vector<float> corners(const cv::Rect2f& box) {
    return {box.x, box.y, box.x + box.width, box.y + box.height};
}

std::string lineOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json headOf(const FrameResult& result) {
    return {{"file", result.frame.name},
            {"frame", result.frame.number},
            {"time", pipeline::timeText(result.measurement.time)},
            {"seconds", result.frame.seconds},
            {"size", {result.frame.image.cols, result.frame.image.rows}}};
}

}  // namespace

ObjectFinder::ObjectFinder(const mpm::ModelInfo& info, const RunOptions& options, bool tracks)
    : m_nms(options.nms),
      m_threshold(options.threshold.value_or(pipeline::usualThreshold(info.detections.has_value()))),
      m_tracks(tracks),
      m_classes(classesNamed(info, options.classes)),
      m_lines(options.lines) {
    if (!info.detections && m_classes.empty()) m_classes = things(info);
    forget();
}

void ObjectFinder::forget() {
    if (!m_tracks) return;
    m_tracker.emplace(pipeline::trackRules(m_threshold));
    m_tracker->setLines(m_lines);
}

std::string ObjectFinder::crossingText() const {
    const auto sum = [](const std::map<int, std::int64_t>& byClass) {
        std::int64_t all = 0;
        for (const auto& [label, count] : byClass)
            all += count;
        return std::to_string(all);
    };
    std::string text;
    for (std::size_t i = 0; m_tracker && i < m_lines.size(); ++i) {
        const pipeline::LineCounts& counts = m_tracker->lineCounts()[i];
        text += '\n' + printable(m_lines[i].name) + ": " + sum(counts.forth) + " forth, " + sum(counts.back) +
                " back";
    }
    return text;
}

pipeline::DetectionChoice ObjectFinder::choice() const {
    pipeline::DetectionChoice choice;
    choice.threshold = static_cast<float>(m_threshold);
    if (m_tracks) choice.threshold = std::min(choice.threshold, pipeline::TrackRules().low);
    choice.nms = m_nms;
    return choice;
}

void ObjectFinder::find(FrameResult& result) {
    const pipeline::Segmentation& seg = result.segmentation;
    std::vector<Detection> all = seg.detections;
    if (!seg.detector) all = pipeline::regionObjects(seg.labels, m_classes, 0, seg.scores);
    pipeline::keepClasses(all, m_classes);
    if (m_tracker) {
        result.tracks = m_tracker->update(all, result.frame.seconds, result.frame.image.size());
        result.crossings = m_tracker->lineCounts();
    }
    for (Detection& one : all)
        if (one.score > m_threshold) result.objects.push_back(std::move(one));
}

std::vector<pipeline::DrawnBox> drawnBoxes(const FrameResult& result, const RunDescription& run) {
    if (!run.tracks) {
        std::vector<pipeline::DrawnBox> boxes = pipeline::drawnBoxes(result.objects, run.labels, run.palette);
        if (!result.segmentation.detector)  // the overlay already has the colours of regions
            for (pipeline::DrawnBox& box : boxes)
                box.mask.release();
        return boxes;
    }
    return pipeline::drawnTracks(result.tracks, run.labels, run.palette);
}

ObjectFiles::ObjectFiles(const RunOptions& options, const mpm::ModelInfo& info, const SaveChoice& save)
    : m_options(options), m_info(info), m_boxes(save.boxes), m_tracks(save.tracks) {}

/// Adds rows. Creates the file with its first rows, so that a run without frames does not replace an earlier
/// file.
void ObjectFiles::addRows(std::unique_ptr<RowFile>& file, const char* name, const std::string& rows) {
    if (file)
        file->add(rows);
    else
        file = std::make_unique<RowFile>((std::filesystem::path(m_options.out) / name).string(), rows);
}

void ObjectFiles::add(const FrameResult& result) {
    if (m_boxes) {
        Json line = headOf(result);
        line["boxes"] = Json::array();
        for (const Detection& one : result.objects)
            line["boxes"].push_back({{"xyxy", corners(one.box)},
                                     {"label", one.label},
                                     {"name", pipeline::className(m_info.labels, one.label)},
                                     {"score", one.score}});
        addRows(m_boxLines, "detections.jsonl", lineOf(line));
    }
    if (!m_tracks) return;
    Json line = headOf(result);
    line["tracks"] = Json::array();
    std::string rows;
    for (const pipeline::TrackedObject& one : result.tracks) {
        line["tracks"].push_back(pipeline::trackJson(one, m_info.labels));
        if (!one.seen) continue;
        rows += std::to_string(result.frame.number + 1) + ',' + std::to_string(one.id);
        for (const float value : {one.box.x, one.box.y, one.box.width, one.box.height})
            rows += ',' + fixedText(value, 2);
        rows += ',' + fixedText(one.score, 4) + ",-1,-1,-1\n";
    }
    for (std::size_t i = 0; i < result.crossings.size(); ++i)
        line["lines"].push_back(pipeline::lineJson(m_options.lines[i], result.crossings[i], m_info.labels));
    addRows(m_trackLines, "tracks.jsonl", lineOf(line));
    addRows(m_trackRows, "tracks.txt", rows);
}

}  // namespace mpm::cli
