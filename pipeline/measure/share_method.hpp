// Token sharing (CTS) as a method to compare, and the policies that bound a learned one.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/measure/method.hpp"

namespace mpm::pipeline {

/// "cts", "cts:shared=120" or "cts:shared=120,policy=random".
struct ShareMethod {
    enum class Policy { Learned, Random, Oracle };

    std::optional<int> shared;  ///< superpatches; of the model file where it is not given
    Policy policy = Policy::Learned;
};

/// Throws MeasureError on a parameter that does not exist.
ShareMethod shareMethodOf(const Method& method);

/// Superpatches that share in `network` from now on: none with another method. Throws MeasureError where the
/// method shares but the model has no policy, or not as many superpatches.
void applySharing(Network& network, const Method& method);

/// Scores of superpatches (CV_32F of the size `grid`) by chance.
cv::Mat randomScores(cv::Size grid, std::uint64_t seed);

/// Scores by labels (CV_8U or CV_16U): the share of the most frequent one in each superpatch. So those with
/// one label are first, in random order.
cv::Mat oracleScores(const cv::Mat& labels, cv::Size grid, std::uint64_t seed);

}  // namespace mpm::pipeline
