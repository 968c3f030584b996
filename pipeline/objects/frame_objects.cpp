#include "pipeline/objects/frame_objects.hpp"

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"

namespace mpm::pipeline {

std::vector<int> classesNamed(const std::vector<std::string>& names, const std::vector<std::string>& words) {
    std::vector<int> ids;
    for (const std::string& word : words) {
        const auto at = std::find(names.begin(), names.end(), word);
        const bool isNumber =
            !word.empty() && word.size() < 7 && word.find_first_not_of("0123456789") == std::string::npos;
        if (at == names.end() && !isNumber)
            throw std::invalid_argument("the model has no class \"" + printable(word, 60) + "\"");
        ids.push_back(at == names.end() ? std::stoi(word) : static_cast<int>(at - names.begin()));
    }
    return ids;
}

void keepClasses(std::vector<Detection>& boxes, const std::vector<int>& classes) {
    const auto isOther = [&](const Detection& one) {
        return std::find(classes.begin(), classes.end(), one.label) == classes.end();
    };
    if (!classes.empty()) boxes.erase(std::remove_if(boxes.begin(), boxes.end(), isOther), boxes.end());
}

TrackRules trackRules(double threshold) {
    TrackRules rules;
    rules.high = static_cast<float>(threshold);
    rules.low = std::min(rules.low, rules.high);
    return rules;
}

std::vector<DrawnBox> drawnTracks(const std::vector<TrackedObject>& tracks,
                                  const std::vector<std::string>& names, const Palette& palette) {
    std::vector<DrawnBox> boxes;
    for (const TrackedObject& one : tracks)
        if (one.seen)
            boxes.push_back({one.box,
                             printable(className(names, one.label), 40) + " #" + std::to_string(one.id) +
                                 " " + fixedText(one.score, 2),
                             classColour(palette, one.label),
                             {}});
    return boxes;
}

nlohmann::ordered_json trackJson(const TrackedObject& track, const std::vector<std::string>& names) {
    const cv::Rect2f& box = track.box;
    return {{"id", track.id},        {"xyxy", {box.x, box.y, box.x + box.width, box.y + box.height}},
            {"label", track.label},  {"name", className(names, track.label)},
            {"score", track.score},  {"state", stateName(track.state)},
            {"seen", track.seen},    {"since", track.since},
            {"dwell", track.dwell()}};
}

nlohmann::ordered_json lineJson(const CountingLine& line, const LineCounts& counts,
                                const std::vector<std::string>& names) {
    const auto byName = [&](const std::map<int, std::int64_t>& byClass) {
        std::map<std::string, std::int64_t> all;
        for (const auto& [label, count] : byClass)
            all[className(names, label)] += count;
        return all;
    };
    return {{"name", line.name}, {"forth", byName(counts.forth)}, {"back", byName(counts.back)}};
}

}  // namespace mpm::pipeline
