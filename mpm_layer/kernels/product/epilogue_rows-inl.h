// An epilogue that runs row by row on stored sums. In an unrolled epilogue, GCC 12 for Arm moves a block to
// memory and back several times. Storing the block once and reading it in a loop takes half the
// instructions.

#if defined(MPM_KERNELS_EPILOGUE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_EPILOGUE_ROWS_INL_H_
#undef MPM_KERNELS_EPILOGUE_ROWS_INL_H_
#else
#define MPM_KERNELS_EPILOGUE_ROWS_INL_H_
#endif

#include "mpm_layer/kernels/product/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Like FloatTarget::finish; read(r, sums) reads the two vectors of row r. If kWhole, no columns are missing.
template <class Function, bool kWhole, class Read>
HWY_NOINLINE void finishRows(const Read& read, const Epilogue& e, int row, int rows, int column, int columns,
                             const FloatTarget& target) {
    if (kWhole) columns = static_cast<int>(panelWidth());
    ColumnPair bias, scale;
    if (e.bias) bias = ColumnPair(e.bias + column, columns);
    if (e.scale) scale = ColumnPair(e.scale + column, columns);
    const float* gate = e.gate ? e.gate + row * e.gateStride + column : nullptr;
    const float* residual = e.residual ? e.residual + row * e.residualStride + column : nullptr;
    const auto addResidual = [&](int r, Float(&sums)[2]) HWY_ATTR {
        addRow(ColumnPair(residual + r * e.residualStride, columns), sums);
    };
    float* to = target.output + row * target.stride + column;
    for (int r = 0; r < rows; ++r, to += target.stride) {
        Float sums[2];
        read(r, sums);
        if (e.bias) addRow(bias, sums);
        if (e.rowBias) {
            const Float rowBias = hn::Set(FloatTag(), e.rowBias[row + r]);
            sums[0] = hn::Add(sums[0], rowBias);
            sums[1] = hn::Add(sums[1], rowBias);
        }
        if (residual && !e.residualLast) addResidual(r, sums);
        sums[0] = Function::of(sums[0]);
        sums[1] = Function::of(sums[1]);
        if (gate) multiplyRow(ColumnPair(gate + r * e.gateStride, columns), sums);
        if (e.scale) multiplyRow(scale, sums);
        if (residual && e.residualLast) addResidual(r, sums);
        FloatTarget::store(sums, e.add, to, columns);
    }
}

template <class Read>
HWY_INLINE void finishStored(const Read& read, const Epilogue& e, int row, int rows, int column, int columns,
                             const FloatTarget& target) {
    withFunction(
        e.activation, [&](auto function) HWY_ATTR __attribute__((always_inline)) {
            using Function = decltype(function);
            if (columns >= static_cast<int>(panelWidth())) {
                finishRows<Function, true>(read, e, row, rows, column, columns, target);
            } else {
                finishRows<Function, false>(read, e, row, rows, column, columns, target);
            }
        });
}

/// Calls finishStored on Arm, FloatTarget::finish on other processors.
HWY_INLINE void finishBlock(const FloatTarget& target, Block<kGroup>& block, const Epilogue& epilogue,
                            int row, int rows, int column, int columns) {
#if HWY_TARGET == HWY_NEON
    HWY_ALIGN float stored[kGroup * 8];
    storeBlock(block, stored, 8);
    const auto read = [&stored](int r, Float(&sums)[2]) HWY_ATTR {
        sums[0] = hn::Load(FloatTag(), stored + 8 * r);
        sums[1] = hn::Load(FloatTag(), stored + 8 * r + 4);
    };
    finishStored(read, epilogue, row, rows, column, columns, target);
#else
    target.finish(block, epilogue, row, rows, column, columns);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif
