// Runs a batch through the blocks of an encoder, as settings and plan say.
#pragma once

#include <vector>

#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/reuse_streams.hpp"

namespace mpm {

/// Without memory. Outputs are allocated, one for each tap. Adds to `times`.
std::vector<ImageReport> runPlain(const EncoderForward& forward, const Settings& settings, bool merging,
                                  std::vector<cv::Mat>& outputs, Times& times);

/// The same for images of streams.
std::vector<ImageReport> runPlanned(const EncoderForward& forward, const Settings& settings,
                                    const ReusePlan& plan, std::vector<cv::Mat>& outputs, Times& times);

}  // namespace mpm
