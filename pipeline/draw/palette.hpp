// Colours of classes and clusters. RGB everywhere, as model files have them; images are BGR.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

using Palette = std::vector<cv::Vec3b>;

/// `count` distinct colours, as far as possible for colour-blind eyes, too.
Palette defaultPalette(int count);

/// The colours of `given`, filled up from defaultPalette() to at least `count`.
Palette completePalette(const Palette& given, int count);

inline cv::Scalar bgr(const cv::Vec3b& rgb) {
    return {double(rgb[2]), double(rgb[1]), double(rgb[0])};
}

}  // namespace mpm::pipeline
