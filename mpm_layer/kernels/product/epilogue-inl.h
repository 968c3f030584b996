// Operations on a sum before it is stored: biases, activation, gate, LayerScale, residuals.

#if defined(MPM_KERNELS_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_EPILOGUE_INL_H_
#undef MPM_KERNELS_EPILOGUE_INL_H_
#else
#define MPM_KERNELS_EPILOGUE_INL_H_
#endif

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"
#include "mpm_layer/kernels/product/product.hpp"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE Float sigmoid(Float x) {
    const FloatTag d;
    const Float scaled = hn::Min(hn::Mul(x, hn::Set(d, -1.44269504f)), hn::Set(d, 126.0f));
    return hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Set(d, 1.0f), exp2(scaled)));
}

struct Gelu {
    static HWY_INLINE Float of(Float x) { return hn::Mul(x, normal(x)); }
};

#if HWY_TARGET <= HWY_AVX3
/// Gelu for results that are then rounded to bf16.
struct GeluCoarse {
    static HWY_INLINE Float of(Float x) { return hn::Mul(x, normalCoarse(x)); }
};
#endif

struct GeluTanh {
    static HWY_INLINE Float of(Float x) {
        // 0.5 (1 + tanh(u)) = sigmoid(2 u)
        const FloatTag d;
        const Float cubed = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
        return hn::Mul(x, sigmoid(hn::Mul(hn::Mul(x, hn::Set(d, 1.59576912f)), cubed)));
    }
};

struct GeluQuick {
    static HWY_INLINE Float of(Float x) {
        return hn::Mul(x, sigmoid(hn::Mul(x, hn::Set(FloatTag(), 1.702f))));
    }
};

struct Silu {
    static HWY_INLINE Float of(Float x) { return hn::Mul(x, sigmoid(x)); }
};

struct Relu {
    /// Keeps NaN: if an operand is NaN, Max returns the second operand on x86, and NaN on Arm.
    static HWY_INLINE Float of(Float x) { return hn::Max(hn::Zero(FloatTag()), x); }
};

struct Unchanged {
    static HWY_INLINE Float of(Float x) { return x; }
};

/// Calls visit(function) with the function of an activation; ErfGelu is the function of Activation::Gelu.
template <class ErfGelu = Gelu, class Visit>
HWY_INLINE void withFunction(Activation activation, const Visit& visit) {
    switch (activation) {
        case Activation::None:
            return visit(Unchanged());
        case Activation::Gelu:
            return visit(ErfGelu());
        case Activation::GeluTanh:
            return visit(GeluTanh());
        case Activation::GeluQuick:
            return visit(GeluQuick());
        case Activation::Silu:
            return visit(Silu());
        case Activation::Relu:
            return visit(Relu());
    }
}

/// Two vectors of columns, read from `from`. Only `columns` columns exist at `from`; all others are zero.
struct ColumnPair {
    HWY_INLINE ColumnPair() : left(hn::Zero(FloatTag())), right(left) {}
    HWY_INLINE ColumnPair(const float* from, int columns) {
        const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
        left = loadPart(from, columns);
        right = columns > lanes ? loadPart(from + lanes, columns - lanes) : hn::Zero(FloatTag());
    }

    Float left, right;
};

HWY_INLINE void multiplyRow(const ColumnPair& by, Float (&sums)[2]) {
    sums[0] = hn::Mul(sums[0], by.left);
    sums[1] = hn::Mul(sums[1], by.right);
}

HWY_INLINE void addRow(const ColumnPair& addend, Float (&sums)[2]) {
    sums[0] = hn::Add(sums[0], addend.left);
    sums[1] = hn::Add(sums[1], addend.right);
}

template <int R>
HWY_INLINE void addResidual(const Epilogue& e, int row, int rows, int column, int columns, Block<R>& block) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        if (r >= rows) break;
        addRow(ColumnPair(e.residual + (row + r) * e.residualStride + column, columns), block.sum[r]);
    }
}

/// Applies an epilogue, except for Epilogue::add, to `rows` rows of a block. The block begins at (row,
/// column) of the output. `columns`: the number of the output's columns from `column` on.
template <class ErfGelu, int R>
HWY_INLINE void applyEpilogue(const Epilogue& e, int row, int rows, int column, int columns,
                              Block<R>& block) {
    if (e.bias) {
        const ColumnPair bias(e.bias + column, columns);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            addRow(bias, block.sum[r]);
    }
    if (e.rowBias) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (r >= rows) break;
            const Float bias = hn::Set(FloatTag(), e.rowBias[row + r]);
            block.sum[r][0] = hn::Add(block.sum[r][0], bias);
            block.sum[r][1] = hn::Add(block.sum[r][1], bias);
        }
    }
    if (e.residual && !e.residualLast) addResidual(e, row, rows, column, columns, block);
    withFunction<ErfGelu>(
        e.activation, [&block](auto function) HWY_ATTR __attribute__((always_inline)) {
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                block.sum[r][0] = function.of(block.sum[r][0]);
                block.sum[r][1] = function.of(block.sum[r][1]);
            }
        });
    if (e.gate) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (r >= rows) break;
            multiplyRow(ColumnPair(e.gate + (row + r) * e.gateStride + column, columns), block.sum[r]);
        }
    }
    if (e.scale) {
        const ColumnPair scale(e.scale + column, columns);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            multiplyRow(scale, block.sum[r]);
    }
    if (e.residual && e.residualLast) addResidual(e, row, rows, column, columns, block);
}

struct FloatTarget {
    float* output;
    size_t stride;

    template <int R>
    HWY_INLINE void finish(Block<R>& block, const Epilogue& epilogue, int row, int rows, int column,
                           int columns) const {
        applyEpilogue<Gelu>(epilogue, row, rows, column, columns, block);
        float* to = output + row * stride + column;
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            if (r >= rows) break;
            store(block.sum[r], epilogue.add, to + r * stride, columns);
        }
    }

    /// Prefetches the memory that `finish` will read and write. The processor does not prefetch rows that are
    /// far apart, for example if a row is a channel of an image.
    HWY_INLINE void expect(const Epilogue& epilogue, int row, int column) const {
        for (int r = row; r < row + kGroup; ++r) {
            __builtin_prefetch(output + r * stride + column, 1);
            if (epilogue.residual)
                __builtin_prefetch(epilogue.residual + r * epilogue.residualStride + column);
        }
    }

    static HWY_INLINE void store(Float (&sums)[2], bool add, float* to, int columns) {
        const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
        if (add) addRow(ColumnPair(to, columns), sums);
        storePart(sums[0], to, columns);
        if (columns > lanes) storePart(sums[1], to + lanes, columns - lanes);
    }
};

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif
