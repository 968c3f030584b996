// Masks as run lengths, as COCO's format writes them: column by column, background first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Runs of pixels outside and inside in turn, down each column. Their sum is the number of pixels.
struct RunLengths {
    cv::Size size;
    std::vector<uint32_t> runs;

    int64_t area() const;  ///< pixels inside
    cv::Rect box() const;  ///< of the pixels inside; empty if there are none
    cv::Mat mask() const;  ///< CV_8U, 1 inside
};

/// @param runs pixels outside, inside, outside, ...
/// @throws cv::Exception if a run is negative, or the sum is not the number of pixels
RunLengths runLengths(cv::Size size, const std::vector<int64_t>& runs);
/// CV_8U, inside if not 0.
RunLengths runLengths(const cv::Mat& mask);

/// COCO's compressed text. @throws cv::Exception if it is damaged
RunLengths runLengthsFrom(cv::Size size, const std::string& text);
std::string runLengthsText(const RunLengths& mask);

/// The union of polygons, each x, y, x, y, ...: the pixels that COCO's code counts as inside, which follow
/// from the outline in fifths of a pixel. The last of an odd number of values has no effect.
/// @throws cv::Exception if a number is larger than 10^7, or if the outlines cross more than 2^24 columns
RunLengths runLengthsOf(const std::vector<std::vector<double>>& polygons, cv::Size size);

/// Intersection over union, with a crowd over the area of `found`. -1 if the sizes differ.
double overlap(const RunLengths& found, const RunLengths& truth, bool crowd);

}  // namespace mpm::pipeline
