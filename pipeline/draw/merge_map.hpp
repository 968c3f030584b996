// Draws merge maps and maps of reuse over an image.
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
    double opacity = 0.6;  ///< of the colours over the image; not used for Mean
    bool outlines = true;  ///< whether to draw lines between clusters
};

/// Keys and titles of MergeMapStyle::Colours, in the order of the enumerators.
struct MapColoursName {
    const char *key, *title;
};
const std::vector<MapColoursName>& mapColoursNames();

/// Draws a merge map. `image`: CV_8UC3. `map`: CV_32S 1xN, the cluster of each image token, ids 0..M-1.
/// `grid`: number of tokens across and down.
cv::Mat drawMergeMap(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                     const MergeMapStyle& style = {});

/// Returns the colour of each cluster. Only Colours::Mean needs `image`.
Palette clusterColours(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                       MergeMapStyle::Colours colours);

/// Returns the map before any merge: each token is a separate cluster.
cv::Mat identityMap(int tokens);

/// Returns the colours of Colours::Distinct: grey for a single token. Clusters that touch have different
/// colours if twelve colours are enough. A cluster usually keeps its colour from frame to frame if its first
/// token stays the same.
Palette clusterColours(const cv::Mat& map, cv::Size grid);

std::vector<int> clusterSizes(const cv::Mat& map);

/// Divides a line of `pixels` pixels into `cells` cells, and returns the first pixel of cell `index`.
inline int cellEdge(int index, int cells, int pixels) {
    return static_cast<int>(std::int64_t(index) * pixels / cells);
}

inline cv::Rect cellRect(int x, int y, cv::Size grid, cv::Size image) {
    const cv::Point from(cellEdge(x, grid.width, image.width), cellEdge(y, grid.height, image.height));
    return {from,
            cv::Point(cellEdge(x + 1, grid.width, image.width), cellEdge(y + 1, grid.height, image.height))};
}

/// Draws the frame in grey, and tokens in colour: orange if the token changed, blue if it was refreshed,
/// magenta if it changed but was postponed. Kept tokens stay grey. `image`: CV_8UC3; `reasons`: CV_8U 1xN,
/// a ReuseReason for each token; `grid`: number of tokens across and down.
cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid);

}  // namespace mpm::pipeline
