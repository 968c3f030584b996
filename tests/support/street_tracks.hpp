// Tracks the true boxes of the built-in street, some of which are dropped at random.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "pipeline/metric/tracks.hpp"
#include "pipeline/objects/tracker.hpp"
#include "street/street.hpp"

namespace mpm::test {

constexpr double kLeastVisible = .3;  ///< an object has a true box if this share of it is visible
constexpr int kLeastSide = 4;         ///< in pixels; a true box is at least this wide and high

using StreetBoxes = std::vector<std::vector<street::StreetObject>>;  ///< by frame

/// Returns the true boxes of visible objects. Leaves out the sensor's noise, which does not change boxes.
inline StreetBoxes streetBoxes(cv::Size size, const std::string& light, double rate, double seconds,
                               int seed) {
    street::Street street(size, static_cast<uint64_t>(seed), 1);
    const double hour = street::clipLight(light).hour;
    StreetBoxes boxes;
    for (int number = 0; number < seconds * rate; ++number) {
        boxes.emplace_back();
        for (const auto& one : street.at(hour, number / rate).objects)
            if (one.visible >= kLeastVisible && std::min(one.box.width, one.box.height) >= kLeastSide)
                boxes.back().push_back(one);
    }
    return boxes;
}

/// Compares the tracker's objects with the true boxes. The tracker gets every `step`th frame. In these
/// frames, a random share `dropped` of the boxes is missing.
inline pipeline::TrackCounts followStreet(const StreetBoxes& boxes, cv::Size size, double rate, int step,
                                          double dropped, uint64_t seed) {
    pipeline::ObjectTracker tracker;
    Random random(seed);
    pipeline::TrackFrames truth, tracks;
    for (size_t number = 0; number < boxes.size(); number += static_cast<size_t>(step)) {
        const int frame = static_cast<int>(number) + 1;
        std::vector<Detection> found;
        for (const auto& one : boxes[number]) {
            truth[frame].push_back({one.id, cv::Rect2d(one.box)});
            if (!random.chance(dropped)) found.push_back({cv::Rect2f(one.box), one.label, .9F, {}});
        }
        for (const auto& one : tracker.update(found, static_cast<double>(number) / rate, size))
            if (one.seen) tracks[frame].push_back({one.id, cv::Rect2d(one.box)});
    }
    return trackCounts(truth, tracks);
}

}  // namespace mpm::test
