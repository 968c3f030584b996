// What happens to a sum between the registers and memory: bias, activation, gate, LayerScale, residual.

#if defined(MPM_KERNELS_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_EPILOGUE_INL_H_
#undef MPM_KERNELS_EPILOGUE_INL_H_
#else
#define MPM_KERNELS_EPILOGUE_INL_H_
#endif

#include <algorithm>

#include "mpm_layer/kernels/lanes-inl.h"
#include "mpm_layer/kernels/microkernel-inl.h"
#include "mpm_layer/kernels/product.hpp"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

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

/// `rows` rows of a block, whose first element belongs at (row, column); `columns` of the output's columns
/// are left.
HWY_INLINE void finishBlock(const Block<kGroup>& block, const Target& target, int row, int rows, int column,
                            int columns) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
#pragma GCC unroll 16
    for (int r = 0; r < kGroup; ++r) {
        if (r >= rows) break;
        finish(block.sum[r][0], target, row + r, column, columns);
        if (columns > lanes) finish(block.sum[r][1], target, row + r, column + lanes, columns - lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
