// The activations of MLPs and convolutions: their names in attributes, and their formulas.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace mpm {

/// The values of the enumerators must not change: they are part of the interface to libmpm_cuda, the library
/// for GPUs.
enum class Activation : int { None, Gelu, GeluTanh, GeluQuick, Silu, Relu };

struct ActivationEntry {
    const char* name;
    Activation activation;
    float (*of)(float);
    float least;  ///< a lower bound of the results
};

inline float sigmoidOf(float x) {
    return 1 / (1 + std::exp(-x));
}
inline float geluTanhOf(float x) {
    return 0.5f * x * (1 + std::tanh(std::sqrt(2 / 3.14159265f) * (x + 0.044715f * x * x * x)));
}

inline constexpr std::array<ActivationEntry, 5> kActivations = {
    {{"gelu", Activation::Gelu, [](float x) { return 0.5f * x * (1 + std::erf(x / std::sqrt(2.f))); },
      -0.171f},
     {"gelu_tanh", Activation::GeluTanh, geluTanhOf, -0.171f},
     {"gelu_quick", Activation::GeluQuick, [](float x) { return x * sigmoidOf(1.702f * x); }, -0.165f},
     {"silu", Activation::Silu, [](float x) { return x * sigmoidOf(x); }, -0.279f},
     {"relu", Activation::Relu, [](float x) { return std::max(0.f, x); }, 0}}};

/// Returns "gelu, gelu_tanh, ..."
inline std::string activationNames() {
    std::string names;
    for (const ActivationEntry& entry : kActivations)
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    return names;
}

}  // namespace mpm
