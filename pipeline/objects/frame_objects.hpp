// Selects a frame's objects by class, draws the objects, and writes the objects as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/draw/boxes.hpp"
#include "pipeline/objects/tracker.hpp"

namespace mpm::pipeline {

/// Returns the ids of classes given by name or number. Throws std::invalid_argument if a name is unknown.
std::vector<int> classesNamed(const std::vector<std::string>& names, const std::vector<std::string>& words);

/// Removes boxes whose class is not in `classes`. If `classes` is empty, keeps all boxes.
void keepClasses(std::vector<Detection>& boxes, const std::vector<int>& classes);

/// Returns the default threshold of scores. For the regions of a segmentation model, the threshold 0.6 gives
/// half as many false alarms as 0.5 (bench/alarm_bench.cpp).
constexpr double usualThreshold(bool detector) {
    return detector ? 0.5 : 0.6;
}

/// Returns rules with which only a box with a score of at least `threshold` begins a new object. Boxes with
/// lower scores may continue an existing object.
TrackRules trackRules(double threshold);

/// Returns the boxes of the tracks that are seen in this frame, with class name, id and score.
std::vector<DrawnBox> drawnTracks(const std::vector<TrackedObject>& tracks,
                                  const std::vector<std::string>& names, const Palette& palette);

/// Returns a track as JSON, in the form of tracks.jsonl.
nlohmann::ordered_json trackJson(const TrackedObject& track, const std::vector<std::string>& names);
nlohmann::ordered_json lineJson(const CountingLine& line, const LineCounts& counts,
                                const std::vector<std::string>& names);

}  // namespace mpm::pipeline
