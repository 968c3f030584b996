#include "mpm_layer/merge/similarity.hpp"

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {

int similarityChunk() {
    return kernels::rowGroup() * 4;
}

UnitRows::UnitRows(const RowsView& rows) : m_width(rows.width), m_stride(kernels::paddedStride(rows.width)) {
    m_rows.reserve(kernels::paddedSize(rows.count, m_stride));
    std::vector<char> finite(rows.count);
    parallelFor(rows.count, [&](int i) {
        finite[i] = kernels::unitRow(rows.row(i), rows.width, m_rows.data() + i * m_stride);
    });
    for (int i = 0; i < rows.count; ++i) {
        if (finite[i]) m_original.push_back(i);
    }
    if (count() < rows.count) closeGaps();
}

void UnitRows::closeGaps() {
    for (int i = 0; i < count(); ++i) {
        if (m_original[i] == i) continue;
        const float* from = m_rows.data() + m_original[i] * m_stride;
        std::copy_n(from, m_width, m_rows.data() + i * m_stride);
    }
}

kernels::Buffer packColumns(const float* rows, size_t stride, int count, int width) {
    kernels::Buffer panels(kernels::panelsSize(count, width));
    const int columns = kernels::panelColumns();
    parallelFor((count + columns - 1) / columns, [&](int panel) {
        const int first = panel * columns;
        kernels::packPanel(rows + first * stride, stride, std::min(columns, count - first), width, panel,
                           panels.data());
    });
    return panels;
}

}  // namespace mpm
