// Simulated night: less light, shot noise, thermal noise.
#pragma once

#include <cstdint>

#include <opencv2/core.hpp>

namespace mpm::street {

struct NightParameters {
    double luminance = 0.35;  ///< values of 0..1 are multiplied by it
    double photons = 250;     ///< photons counted at the value 1
    double deviation = 0.01;  ///< of the Gaussian noise, on values of 0..1
};

/// The image (CV_8U, any channels) under simulated night. The same seed gives the same noise.
cv::Mat night(const cv::Mat& image, const NightParameters& parameters, uint64_t seed);

}  // namespace mpm::street
