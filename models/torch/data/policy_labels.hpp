// The labels that the policy of token sharing learns, from semantic labels alone (CTS; Lu, de Geus and
// Dubbelman 2023).
#pragma once

#include <torch/types.h>

namespace mpm::models {

constexpr int64_t kNoPolicyLabel = 255;

/// labels [B, H, W], H and W multiples of 32 -> [B, H/32, W/32]: 1 if all 32x32 pixels have the same label,
/// else 0. "Ignored" counts as a label: a superpatch of ignored pixels only is 1, a single class beside
/// ignored pixels is 0. `ignoredBorder`: the data set does not label the border of images, so on the outer
/// ring a single class beside ignored pixels is kNoPolicyLabel.
torch::Tensor policyLabels(const torch::Tensor& labels, int64_t ignored, bool ignoredBorder = false);

}  // namespace mpm::models
