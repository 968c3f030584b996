// The places at which accuracy is lost: along the boundaries of classes or inside, on small objects or large.
#pragma once

#include <array>
#include <cstdint>

#include <opencv2/core.hpp>

#include "pipeline/metric/confusion.hpp"

namespace mpm::pipeline {

/// 255 if a pixel of another id is within `radius` pixels (a square), else 0. labels: CV_8UC1 or CV_16UC1.
/// The ignored id makes no boundary.
cv::Mat boundaryBand(const cv::Mat& labels, int ignored, int radius);

/// A prediction, counted separately in the band along boundaries and in the rest. The sum is the whole image.
struct SplitConfusion {
    Confusion band, interior;

    SplitConfusion(int classes, int ignored) : band(classes, ignored), interior(classes, ignored) {}
    void add(const cv::Mat& truth, const cv::Mat& prediction, int radius);
    SplitConfusion& operator+=(const SplitConfusion& other);
    Confusion whole() const;
};

/// Pixels of connected regions of a class by the size of the region: up to 32x32, up to 96x96 pixels,
/// larger.
struct ObjectCounts {
    static constexpr int kSizes = 3;
    std::array<int64_t, kSizes> right{}, all{};

    void add(const cv::Mat& truth, const cv::Mat& prediction, int ignored);
    ObjectCounts& operator+=(const ObjectCounts& other);
    double recall(int size) const;  ///< NaN if there are none
};

}  // namespace mpm::pipeline
