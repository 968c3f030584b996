// Activations as formulas, to recognise those that an export spells out.
#pragma once

#include <utility>

#include "models/onnx/ir/list.hpp"

namespace mpm::models {

using ActivationFunction = float (*)(float);

/// By the names that MpmEncoder has for them.
const List<std::pair<const char*, ActivationFunction>>& activations();
/// Inputs at which the activations differ.
const List<float>& activationProbes();

}  // namespace mpm::models
