#include "cli/run/object_files.hpp"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/run/run_session.hpp"

namespace mpm::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Names of classes that are things rather than areas, in the data sets that segmentation models are trained
/// on.
constexpr const char* kThings[] = {"person",    "pedestrian", "rider", "bicyclist", "car",
                                   "truck",     "bus",        "train", "van",       "motorcycle",
                                   "motorbike", "bicycle",    "bike",  "boat",      "airplane",
                                   "animal",    "cat",        "dog",   "horse"};

std::vector<int> classesNamed(const mpm::ModelInfo& info, const std::vector<std::string>& words) {
    std::vector<int> ids;
    for (const std::string& word : words) {
        const auto at = std::find(info.labels.begin(), info.labels.end(), word);
        const bool isNumber =
            !word.empty() && word.size() < 7 && word.find_first_not_of("0123456789") == std::string::npos;
        if (at == info.labels.end() && !isNumber)
            throw Error(kWrongUse, "--classes: the model has no class \"" + printable(word, 60) +
                                       "\"; 'mpm info MODEL' lists its classes");
        ids.push_back(at == info.labels.end() ? std::stoi(word) : static_cast<int>(at - info.labels.begin()));
    }
    return ids;
}

std::vector<int> things(const mpm::ModelInfo& info) {
    std::vector<int> ids;
    for (size_t id = 0; id < info.labels.size(); ++id)
        for (const char* thing : kThings)
            if (info.labels[id] == thing) ids.push_back(static_cast<int>(id));
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
    : m_options(options), m_tracks(tracks), m_classes(classesNamed(info, options.classes)) {
    if (!info.detections && m_classes.empty()) m_classes = things(info);
    forget();
}

void ObjectFinder::forget() {
    if (!m_tracks) return;
    pipeline::TrackRules rules;
    rules.high = static_cast<float>(m_options.threshold);
    rules.low = std::min(rules.low, rules.high);
    m_tracker.emplace(rules);
}

pipeline::DetectionChoice ObjectFinder::choice() const {
    pipeline::DetectionChoice choice;
    choice.threshold = static_cast<float>(m_options.threshold);
    if (m_tracks) choice.threshold = std::min(choice.threshold, pipeline::TrackRules().low);
    choice.nms = m_options.nms;
    return choice;
}

void ObjectFinder::find(FrameResult& result) {
    const pipeline::Segmentation& seg = result.segmentation;
    std::vector<Detection> all = seg.detections;
    if (!seg.detector)  // a two-thousandth of the image: smaller regions are mostly noise
        all = pipeline::regionObjects(seg.labels, m_classes, static_cast<int>(seg.labels.total() / 2000));
    const auto isOther = [&](const Detection& one) {
        return !m_classes.empty() && std::count(m_classes.begin(), m_classes.end(), one.label) == 0;
    };
    all.erase(std::remove_if(all.begin(), all.end(), isOther), all.end());
    if (m_tracker) result.tracks = m_tracker->update(all, result.frame.seconds, result.frame.image.size());
    for (Detection& one : all)
        if (one.score > m_options.threshold) result.objects.push_back(std::move(one));
}

std::vector<pipeline::DrawnBox> drawnBoxes(const FrameResult& result, const RunDescription& run) {
    if (!run.tracks) {
        std::vector<pipeline::DrawnBox> boxes = pipeline::drawnBoxes(result.objects, run.labels, run.palette);
        if (!result.segmentation.detector)  // regions have the colours of their classes already
            for (pipeline::DrawnBox& box : boxes)
                box.mask.release();
        return boxes;
    }
    std::vector<pipeline::DrawnBox> boxes;
    for (const pipeline::TrackedObject& one : result.tracks)
        if (one.seen)
            boxes.push_back({one.box,
                             printable(pipeline::className(run.labels, one.label), 40) + " #" +
                                 std::to_string(one.id) + " " + fixedText(one.score, 2),
                             pipeline::classColour(run.palette, one.label),
                             {}});
    return boxes;
}

ObjectFiles::ObjectFiles(std::string folder, const mpm::ModelInfo& info, const SaveChoice& save)
    : m_folder(std::move(folder)), m_info(info), m_boxes(save.boxes), m_tracks(save.tracks) {}

/// A file begins with its first rows: an empty result never replaces an earlier file.
void ObjectFiles::addRows(std::unique_ptr<RowFile>& file, const char* name, const std::string& rows) {
    if (file)
        file->add(rows);
    else
        file = std::make_unique<RowFile>((std::filesystem::path(m_folder) / name).string(), rows);
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
        line["tracks"].push_back({{"id", one.id},
                                  {"xyxy", corners(one.box)},
                                  {"label", one.label},
                                  {"name", pipeline::className(m_info.labels, one.label)},
                                  {"score", one.score},
                                  {"state", pipeline::stateName(one.state)},
                                  {"seen", one.seen},
                                  {"since", one.since},
                                  {"dwell", one.dwell()}});
        if (!one.seen) continue;
        rows += std::to_string(result.frame.number + 1) + ',' + std::to_string(one.id);
        for (const float value : {one.box.x, one.box.y, one.box.width, one.box.height})
            rows += ',' + fixedText(value, 2);
        rows += ',' + fixedText(one.score, 4) + ",-1,-1,-1\n";
    }
    addRows(m_trackLines, "tracks.jsonl", lineOf(line));
    addRows(m_trackRows, "tracks.txt", rows);
}

}  // namespace mpm::cli
