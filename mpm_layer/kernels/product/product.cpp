#include "mpm_layer/kernels/product/product.hpp"

#include <algorithm>

#include "mpm_layer/kernels/common/isa.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/product/product.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/product/epilogue_rows-inl.h"
#include "mpm_layer/kernels/product/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

int RowGroup() {
    return kGroup;
}
int PanelColumns() {
    return static_cast<int>(panelWidth());
}

void Product(const float* rows, size_t rowStride, int count, const PackedWeights& weights,
             const Epilogue& epilogue, float* output, size_t outputStride) {
    const int width = PanelColumns();
    const FloatTarget target{output, outputStride};
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        multiplyPanel(count, weights.depth(), rows, rowStride, weights.panel(p),
                      [&](int row, Block<kGroup>& block) HWY_ATTR {
                          if (row + kGroup < count)
                              target.expect(epilogue, row + kGroup, column);
                          else
                              target.expect(epilogue, 0, column + width);
                          finishBlock(target, block, epilogue, row, std::min(kGroup, count - row), column,
                                      weights.columns() - column);
                      });
    }
}

void Activate(Activation activation, const float* in, size_t count, float* out) {
    const size_t lanes = hn::Lanes(FloatTag());
    withFunction(activation, [=](auto function) HWY_ATTR {
        for (size_t k = 0; k < count; k += lanes) {
            const int here = static_cast<int>(std::min(lanes, count - k));
            storePart(function.of(loadPart(in + k, here)), out + k, here);
        }
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

// Every program with kernels links this file, so the limit is set before any kernel is chosen.
[[maybe_unused]] const bool g_limited = limitInstructionSet();

HWY_EXPORT(RowGroup);
HWY_EXPORT(PanelColumns);
HWY_EXPORT(Product);
HWY_EXPORT(Activate);

int rowGroup() {
    static const int group = HWY_DYNAMIC_DISPATCH(RowGroup)();
    return group;
}

int panelColumns() {
    static const int columns = HWY_DYNAMIC_DISPATCH(PanelColumns)();
    return columns;
}

PackedWeights::PackedWeights(const float* weights, size_t stride, int depth, int columns) {
    reshape(depth, columns);
    const int width = panelColumns(), panels = (columns + width - 1) / width;
    float* to = panel(0);
    for (int p = 0; p < panels; ++p) {
        const int present = std::min(width, columns - p * width);
        for (int k = 0; k < depth; ++k, to += width) {
            const float* from = weights + k * stride + static_cast<size_t>(p) * width;
            std::copy(from, from + present, to);
            std::fill(to + present, to + width, 0.0f);
        }
    }
}

void product(const float* rows, size_t rowStride, int count, const PackedWeights& weights,
             const Epilogue& epilogue, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(Product)(rows, rowStride, count, weights, epilogue, output, outputStride);
}

void activate(Activation activation, const float* in, size_t count, float* out) {
    HWY_DYNAMIC_DISPATCH(Activate)(activation, in, count, out);
}

}  // namespace mpm::kernels
#endif
