// Which patches went together, as an image: clusters coloured and outlined, single patches grey.
#pragma once

#include <vector>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct MergeMapStyle {
    double opacity = 0.6;  ///< of the clusters' colours over the image
    bool outlines = true;
};

/// image: CV_8UC3. map: CV_32S 1xN, cluster of each image token, ids 0..M-1. grid: tokens across and down.
cv::Mat drawMergeMap(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                     const MergeMapStyle& style = {});

/// Colour of each cluster; grey for clusters of one. Deterministic, and clusters that touch differ wherever
/// the dozen colours allow; a cluster keeps its colour from frame to frame while its first member stays.
Palette clusterColours(const cv::Mat& map, cv::Size grid);

/// How many tokens each cluster holds.
std::vector<int> clusterSizes(const cv::Mat& map);

}  // namespace mpm::pipeline
