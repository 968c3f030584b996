// An object that the tracker follows.
#pragma once

#include <optional>

#include "pipeline/objects/tracker.hpp"

namespace mpm::pipeline {

struct ObjectTracker::Track {
    TrackedObject object;
    bool counts = false;               ///< the object is confirmed
    double unseen = 0;                 ///< seconds without a box, by the clock
    double unwatched = 0;              ///< the same without pauses of the source
    cv::Point2f anchor;                ///< middle of the box when the object last moved
    double anchored = 0;               ///< time of the anchor
    std::optional<double> lastBefore;  ///< when a restored object was last seen in the earlier run
    cv::Point2f step;                  ///< movement of the middle in a second
    struct Visit {
        double since, last;
    };
    std::map<std::string, Visit> visits;  ///< by region; "": the image

    /// Moves the object into images of another size.
    void scale(float x, float y) {
        const auto scaled = [x, y](cv::Point2f p) { return cv::Point2f(p.x * x, p.y * y); };
        object.box = {scaled(object.box.tl()), scaled(object.box.br())};
        anchor = scaled(anchor), step = scaled(step);
        for (cv::Point2f& point : object.path)
            point = scaled(point);
    }
};

}  // namespace mpm::pipeline
