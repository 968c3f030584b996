// Runs a batch through the blocks of an encoder.
#pragma once

#include <vector>

#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/reuse_streams.hpp"

namespace mpm {

/// Runs a batch without reuse. The caller must allocate an output for each tap. Adds the times of merging and
/// restoring to `times`.
std::vector<ImageReport> runPlain(const EncoderForward& forward, const Settings& settings, bool merging,
                                  std::vector<cv::Mat>& outputs, Times& times);

/// Runs a batch with reuse: computes the rows in `plan`. `outputs` and `times` are as in runPlain().
std::vector<ImageReport> runPlanned(const EncoderForward& forward, const Settings& settings,
                                    const ReusePlan& plan, std::vector<cv::Mat>& outputs, Times& times);

}  // namespace mpm
