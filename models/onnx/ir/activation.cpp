#include "models/onnx/ir/norm.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::models {
namespace {

float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}
float gelu(float x) {
    return 0.5f * x * (1 + std::erf(x / std::sqrt(2.f)));
}
float geluTanh(float x) {
    return 0.5f * x * (1 + std::tanh(std::sqrt(2 / 3.14159265f) * (x + 0.044715f * x * x * x)));
}
float geluQuick(float x) {
    return x * sigmoid(1.702f * x);
}
float silu(float x) {
    return x * sigmoid(x);
}
float relu(float x) {
    return std::max(0.f, x);
}

}  // namespace

const List<std::pair<const char*, ActivationFunction>>& activations() {
    static const List<std::pair<const char*, ActivationFunction>> all{
        {"gelu", gelu}, {"gelu_tanh", geluTanh}, {"gelu_quick", geluQuick}, {"silu", silu}, {"relu", relu}};
    return all;
}

const List<float>& activationProbes() {
    static const List<float> all{-3.7f, -2.2f, -1.3f, -0.6f, -0.1f, 0.f, 0.3f, 0.9f, 1.4f, 2.1f, 2.9f, 4.2f};
    return all;
}

}  // namespace mpm::models
