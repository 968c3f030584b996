// Colours of classes and clusters, in RGB as in model files; images are BGR.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

using Palette = std::vector<cv::Vec3b>;

/// Returns `count` distinct colours. Red-green colour-blind people can distinguish the first 20, on light and
/// on dark backgrounds.
Palette defaultPalette(int count);

/// Chooses colours from defaultPalette() by the meaning of names: muted for road, sky and building, saturated
/// for people and vehicles. Other names, and names whose colour is taken, get unused colours.
Palette namedPalette(const std::vector<std::string>& names);

/// Returns the colours of `given`. If there are fewer than `count`, adds colours of defaultPalette().
Palette completePalette(const Palette& given, int count);

/// Returns at least `count` colours: the model's (`given`), or namedPalette() if `given` is empty.
Palette paletteOf(const Palette& given, const std::vector<std::string>& names, int count);

inline cv::Scalar bgr(const cv::Vec3b& rgb) {
    return {double(rgb[2]), double(rgb[1]), double(rgb[0])};
}

}  // namespace mpm::pipeline
