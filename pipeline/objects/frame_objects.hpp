// Selects the objects of a frame, draws tracks and writes them as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/draw/boxes.hpp"
#include "pipeline/objects/tracker.hpp"

namespace mpm::pipeline {

/// Finds ids of classes by name or number. Throws std::invalid_argument if the model has no class of a name.
std::vector<int> classesNamed(const std::vector<std::string>& names, const std::vector<std::string>& words);

/// Removes boxes of other classes. If `classes` is empty, all boxes stay.
void keepClasses(std::vector<Detection>& boxes, const std::vector<int>& classes);

/// The default threshold of scores. For regions of classes, 0.6 raises half as many false alarms as 0.5
/// (bench/alarm_bench.cpp).
constexpr double usualThreshold(bool detector) {
    return detector ? 0.5 : 0.6;
}

/// Rules for boxes that count above a threshold. Weaker boxes, from a score of `low`, continue an object.
TrackRules trackRules(double threshold);

/// The tracks that have a box in this frame, with name, identity and score.
std::vector<DrawnBox> drawnTracks(const std::vector<TrackedObject>& tracks,
                                  const std::vector<std::string>& names, const Palette& palette);

/// Writes a track as in tracks.jsonl.
nlohmann::ordered_json trackJson(const TrackedObject& track, const std::vector<std::string>& names);
nlohmann::ordered_json lineJson(const CountingLine& line, const LineCounts& counts,
                                const std::vector<std::string>& names);

}  // namespace mpm::pipeline
