#include "mpm_layer/kernels/product.hpp"

#include <algorithm>

#include "mpm_layer/kernels/isa.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/lanes-inl.h"
#include "mpm_layer/kernels/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

int RowGroup() {
    return kGroup;
}
int PanelColumns() {
    return static_cast<int>(panelWidth());
}

HWY_INLINE Float sigmoid(Float x) {
    const FloatTag d;
    const Float scaled = hn::Min(hn::Mul(x, hn::Set(d, -1.44269504f)), hn::Set(d, 126.0f));
    return hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), exp2(scaled)));
}

HWY_INLINE Float activate(Float x, Activation activation) {
    const FloatTag d;
    switch (activation) {
        case Activation::None:
            return x;
        case Activation::Gelu: {
            const Float half = hn::Mul(x, hn::Set(d, 0.5f));
            return hn::MulAdd(half, erf(hn::Mul(x, hn::Set(d, 0.70710678f))), half);
        }
        case Activation::GeluTanh: {
            // 0.5 (1 + tanh(u)) = sigmoid(2 u)
            const Float cubed = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
            return hn::Mul(x, sigmoid(hn::Mul(hn::Mul(x, hn::Set(d, 1.59576912f)), cubed)));
        }
        case Activation::GeluQuick:
            return hn::Mul(x, sigmoid(hn::Mul(x, hn::Set(d, 1.702f))));
        case Activation::Silu:
            return hn::Mul(x, sigmoid(x));
        case Activation::Relu:
            return hn::Max(x, hn::Zero(d));
    }
    return x;
}

struct Target {
    const Epilogue& epilogue;
    float* output;
    size_t stride;
};

// One vector of one row; `column` is its first column, `count` how many of its lanes exist.
HWY_INLINE void finish(Float sum, const Target& t, int row, int column, int count) {
    const Epilogue& e = t.epilogue;
    const size_t at = row * t.stride + column;
    if (e.bias) sum = hn::Add(sum, loadPart(e.bias + column, count));
    sum = activate(sum, e.activation);
    if (e.gate) sum = hn::Mul(sum, loadPart(e.gate + at, count));
    if (e.scale) sum = hn::Mul(sum, loadPart(e.scale + column, count));
    if (e.add) sum = hn::Add(sum, loadPart(t.output + at, count));
    storePart(sum, t.output + at, count);
}

void Product(const float* rows, size_t rowStride, int count, const PackedWeights& weights,
             const Epilogue& epilogue, float* output, size_t outputStride) {
    static thread_local Buffer scratch;
    const int width = PanelColumns(), lanes = width / 2;
    const int groups = (count + kGroup - 1) / kGroup;
    float* partial = scratch.reserve(static_cast<size_t>(groups) * kGroup * width);
    const Target target{epilogue, output, outputStride};
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        multiplyPanel(groups, weights.depth(), rows, rowStride, weights.panel(p), partial,
                      [&](int g, const Block<kGroup>& block) HWY_ATTR {
                          const int present = std::min(kGroup, count - g * kGroup);
                          const int right = weights.columns() - column - lanes;
#pragma GCC unroll 16
                          for (int r = 0; r < kGroup; ++r) {
                              if (r >= present) break;
                              finish(block.sum[r][0], target, g * kGroup + r, column, right + lanes);
                              if (right > 0)
                                  finish(block.sum[r][1], target, g * kGroup + r, column + lanes, right);
                          }
                      });
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

// Every kernel's user needs products' packing: when this file is loaded, nothing has been dispatched yet.
[[maybe_unused]] const bool g_limited = limitInstructionSet();

HWY_EXPORT(RowGroup);
HWY_EXPORT(PanelColumns);
HWY_EXPORT(Product);

int rowGroup() {
    static const int group = HWY_DYNAMIC_DISPATCH(RowGroup)();
    return group;
}

int panelColumns() {
    static const int columns = HWY_DYNAMIC_DISPATCH(PanelColumns)();
    return columns;
}

PackedWeights::PackedWeights(const float* weights, size_t stride, int depth, int columns)
    : m_depth(depth), m_columns(columns) {
    const int width = panelColumns(), panels = (columns + width - 1) / width;
    float* to = m_data.reserve(static_cast<size_t>(panels) * width * depth);
    for (int p = 0; p < panels; ++p) {
        const int present = std::min(width, columns - p * width);
        for (int k = 0; k < depth; ++k, to += width) {
            const float* from = weights + k * stride + static_cast<size_t>(p) * width;
            std::copy(from, from + present, to);
            std::fill(to + present, to + width, 0.0f);
        }
    }
}

const float* PackedWeights::panel(int index) const {
    return m_data.data() + static_cast<size_t>(index) * panelColumns() * m_depth;
}

void product(const float* rows, size_t rowStride, int count, const PackedWeights& weights,
             const Epilogue& epilogue, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(Product)(rows, rowStride, count, weights, epilogue, output, outputStride);
}

}  // namespace mpm::kernels
#endif
