// Measures accuracy by place: at boundaries between classes or inside, in small or large objects.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/metric/confusion.hpp"

namespace mpm::pipeline {

/// Returns a mask: 255 at each pixel that has another id at most `radius` rows and columns away, else 0. The
/// ignored id does not count, and the mask is 0 at pixels with this id. `labels`: CV_8UC1 or CV_16UC1.
cv::Mat boundaryBand(const cv::Mat& labels, int ignored, int radius);

/// Counts of a prediction in the band along boundaries, and in the rest of the image.
struct SplitConfusion {
    Confusion band, interior;

    SplitConfusion(int classes, int ignored) : band(classes, ignored), interior(classes, ignored) {}
    void add(const cv::Mat& truth, const cv::Mat& prediction, int radius);
    SplitConfusion& operator+=(const SplitConfusion& other);
    Confusion whole() const;
};

/// The cells of a SplitConfusion that are not zero. Even with 150 classes, an image has few such cells.
struct SplitCells {
    std::vector<Confusion::Cell> band, interior;

    SplitCells() = default;
    explicit SplitCells(const SplitConfusion& split)
        : band(split.band.cells()), interior(split.interior.cells()) {}
    SplitConfusion in(int classes, int ignored) const;
};

/// Correct pixels and all pixels, by the size of the true region (connected pixels of a class): up to 32x32
/// pixels, up to 96x96, or larger.
struct ObjectCounts {
    static constexpr int kSizes = 3;
    std::array<int64_t, kSizes> right{}, all{};

    void add(const cv::Mat& truth, const cv::Mat& prediction, int ignored);
    ObjectCounts& operator+=(const ObjectCounts& other);
    double recall(int size) const;  ///< NaN if there is no region of this size
};

/// Entry d is the number of joins of two tokens at a distance of d, rounded to whole patches. For example,
/// all eight neighbours of a patch are at a distance of 1.
using DistanceCounts = std::vector<int64_t>;

/// Counts the joins of each stage: in each cluster, every other token joins the first token. The position of
/// a token is the mean position of its patches. `stages`: the map of each stage in order, CV_32S 1xK; the
/// first map has a token for each patch of the grid.
std::vector<DistanceCounts> joinDistances(const std::vector<cv::Mat>& stages, cv::Size grid);

/// Returns the distribution for random pairs of patches: the share of pairs at each distance.
std::vector<double> chanceDistances(cv::Size grid);

void addCounts(std::vector<DistanceCounts>& sum, const std::vector<DistanceCounts>& more);

}  // namespace mpm::pipeline
