// Draws the clusters into which patches merged.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct MergeMapStyle {
    enum class Colours {
        Mean,     ///< each cluster in the mean colour of its patches
        Size,     ///< from yellow to red by cluster size; single patches grey
        Distinct  ///< different colours for clusters that touch; single patches grey
    } colours = Colours::Mean;
    double opacity = 0.6;  ///< of the colours Size and Distinct over the image
    bool outlines = true;  ///< between clusters
};

/// Names and titles of the colours, in the order of the enumerators.
struct MapColoursName {
    const char *key, *title;
};
const std::vector<MapColoursName>& mapColoursNames();

/// image: CV_8UC3. map: CV_32S 1xN, cluster of each image token, ids 0..M-1. grid: tokens across and down.
cv::Mat drawMergeMap(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                     const MergeMapStyle& style = {});

/// Returns the colour of each cluster in a style. `image` is needed for mean colours only.
Palette clusterColours(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                       MergeMapStyle::Colours colours);

/// The map before any merge: every token is a cluster.
cv::Mat identityMap(int tokens);

/// Returns the colours of `Distinct`, grey for single tokens. Deterministic; clusters that touch differ if
/// twelve colours are enough. A cluster keeps its colour from frame to frame while its first member stays.
Palette clusterColours(const cv::Mat& map, cv::Size grid);

/// Number of tokens in each cluster.
std::vector<int> clusterSizes(const cv::Mat& map);

/// The first pixel of cell `index` of `cells`.
inline int cellEdge(int index, int cells, int pixels) {
    return static_cast<int>(std::int64_t(index) * pixels / cells);
}

inline cv::Rect cellRect(int x, int y, cv::Size grid, cv::Size image) {
    const cv::Point from(cellEdge(x, grid.width, image.width), cellEdge(y, grid.height, image.height));
    return {from,
            cv::Point(cellEdge(x + 1, grid.width, image.width), cellEdge(y + 1, grid.height, image.height))};
}

/// Draws the frame in grey, and tokens in colour unless they were kept: orange if they changed, blue if they
/// were refreshed by age, magenta if a change was postponed. `image`: CV_8UC3; `reasons`: CV_8U 1xN, a
/// ReuseReason for each token; `grid`: tokens across and down.
cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid);

}  // namespace mpm::pipeline
