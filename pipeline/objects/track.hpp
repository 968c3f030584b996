// An object that the tracker follows.
#pragma once

#include <optional>

#include "pipeline/objects/tracker.hpp"

namespace mpm::pipeline {

struct ObjectTracker::Track {
    TrackedObject object;
    bool counts = false;               ///< whether the object is confirmed
    double unseen = 0;                 ///< seconds since the latest box, by the source's clock
    double unwatched = 0;              ///< like `unseen`, but at most kLongestStep for each pause
    cv::Point2f anchor;                ///< middle of the box when the object last moved
    double anchored = 0;               ///< when the anchor was set
    std::optional<double> lastBefore;  ///< when an earlier run last saw a restored object
    cv::Point2f step;                  ///< movement of the box's middle, in pixels per second
    struct Visit {
        double since, last;
    };
    std::map<std::string, Visit> visits;  ///< by the region's name; "" is the whole image

    /// Multiplies all places by the factors `x` and `y`, for images of another size.
    void scale(float x, float y) {
        const auto scaled = [x, y](cv::Point2f p) { return cv::Point2f(p.x * x, p.y * y); };
        object.box = {scaled(object.box.tl()), scaled(object.box.br())};
        anchor = scaled(anchor), step = scaled(step);
        for (cv::Point2f& point : object.path)
            point = scaled(point);
    }
};

}  // namespace mpm::pipeline
