// Measures of lost accuracy: along boundaries of classes or inside, on small objects or large.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/metric/confusion.hpp"

namespace mpm::pipeline {

/// Returns a mask: 255 for each pixel with another id within `radius` pixels (a square), else 0. `labels`:
/// CV_8UC1 or CV_16UC1. The ignored id has no boundary.
cv::Mat boundaryBand(const cv::Mat& labels, int ignored, int radius);

/// Counts of a prediction in the band along boundaries, and in the rest of the image.
struct SplitConfusion {
    Confusion band, interior;

    SplitConfusion(int classes, int ignored) : band(classes, ignored), interior(classes, ignored) {}
    void add(const cv::Mat& truth, const cv::Mat& prediction, int radius);
    SplitConfusion& operator+=(const SplitConfusion& other);
    Confusion whole() const;
};

/// The cells of a SplitConfusion that are not zero. An image has few of the pairs of 150 classes.
struct SplitCells {
    std::vector<Confusion::Cell> band, interior;

    SplitCells() = default;
    explicit SplitCells(const SplitConfusion& split)
        : band(split.band.cells()), interior(split.interior.cells()) {}
    SplitConfusion in(int classes, int ignored) const;
};

/// Correct pixels and all pixels, by the size of the connected region of a class: up to 32x32 pixels, up to
/// 96x96, or larger.
struct ObjectCounts {
    static constexpr int kSizes = 3;
    std::array<int64_t, kSizes> right{}, all{};

    void add(const cv::Mat& truth, const cv::Mat& prediction, int ignored);
    ObjectCounts& operator+=(const ObjectCounts& other);
    double recall(int size) const;  ///< NaN if there is no such region
};

/// Joins by distance: entry d counts the joins of tokens whose distance is about d patches (rounded, so the
/// eight neighbours have distance 1).
using DistanceCounts = std::vector<int64_t>;

/// Counts the joins of each stage. `stages`: the maps in order, CV_32S 1xK, the first for the whole grid. The
/// place of a token is the mean of its patches. In a cluster of more than two tokens, each token counts by
/// its distance from the first.
std::vector<DistanceCounts> joinDistances(const std::vector<cv::Mat>& stages, cv::Size grid);

/// Returns the distribution if place did not matter: by distance, the share of pairs of two random patches.
std::vector<double> chanceDistances(cv::Size grid);

void addCounts(std::vector<DistanceCounts>& sum, const std::vector<DistanceCounts>& more);

}  // namespace mpm::pipeline
