// Colours of classes and clusters. RGB everywhere, as model files have them; images are BGR.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

using Palette = std::vector<cv::Vec3b>;

/// `count` distinct colours; the first 20 for colour-blind eyes, too, and on both themes.
Palette defaultPalette(int count);

/// The same colours by what names mean: quiet ones for road, sky and building, saturated ones for people and
/// vehicles. Other names get the colours that are left.
Palette namedPalette(const std::vector<std::string>& names);

/// The colours of `given`, filled up from defaultPalette() to at least `count`.
Palette completePalette(const Palette& given, int count);

/// The model's colours, or namedPalette() if the model has none; at least `count`.
Palette paletteOf(const Palette& given, const std::vector<std::string>& names, int count);

inline cv::Scalar bgr(const cv::Vec3b& rgb) {
    return {double(rgb[2]), double(rgb[1]), double(rgb[0])};
}

}  // namespace mpm::pipeline
