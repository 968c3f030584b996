// Parts of an image: polygons with statistics, and masks that hide a part.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Corners. The coordinates are fractions of the image's width and height.
using Polygon = std::vector<cv::Point2d>;

struct Region {
    std::string name;
    Polygon outline;  ///< at least three corners
};

/// Measurements of an image inside a region.
struct RegionReading {
    std::string name;
    int patches = 0;                  ///< patches whose middle is inside
    int tokens = 0;                   ///< kept tokens with a patch inside
    std::vector<double> classShares;  ///< shares of the region's visible pixels by class id; may be empty
    std::map<int, int> objects = {};  ///< number of objects inside by class id, for followed classes
};

/// Returns the reading of the region with this name; null if there is none.
inline const RegionReading* readingOf(const std::vector<RegionReading>& readings, const std::string& name) {
    const auto found = std::find_if(readings.begin(), readings.end(),
                                    [&](const RegionReading& one) { return one.name == name; });
    return found != readings.end() ? &*found : nullptr;
}

/// Returns whether a point is inside the outline, by the even-odd rule.
bool contains(const Polygon& outline, cv::Point2d point);

/// Measures a region. `labels`: CV_8U or CV_16U ids; if empty, there are no class shares. `map`: CV_32S, the
/// cluster of each image token, row by row of `grid`. `seen`: from seenThrough(). Shares ignore masked
/// pixels, but `patches` and `tokens` include masked patches.
RegionReading readRegion(const Region& region, const cv::Mat& labels, const cv::Mat& map, cv::Size grid,
                         int classes, const cv::Mat& seen = {});

/// Returns a CV_8U image, 0 under a mask and 255 elsewhere; empty if there are no masks.
cv::Mat seenThrough(const std::vector<Polygon>& masks, cv::Size size);

/// Blackens the polygons in an image, in place. A mask with fewer than three corners covers nothing.
void applyMasks(cv::Mat& image, const std::vector<Polygon>& masks);

}  // namespace mpm::pipeline
