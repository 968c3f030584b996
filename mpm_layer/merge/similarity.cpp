#include "mpm_layer/merge/similarity.hpp"

#include <algorithm>

#include "parallel/loops.hpp"
#include "mpm_layer/kernels/product.hpp"
#include "mpm_layer/kernels/rows.hpp"

namespace mpm {

int similarityChunk() {
    return kernels::rowGroup() * 4;
}

UnitRows::UnitRows(const RowsView& rows) : m_width(rows.width), m_stride(kernels::paddedStride(rows.width)) {
    normalise(rows);
    closeGaps();
    pack();
}

void UnitRows::normalise(const RowsView& rows) {
    m_rows.reserve(kernels::paddedSize(rows.count, m_stride));
    std::vector<char> finite(rows.count);
    parallelFor(rows.count, [&](int i) {
        finite[i] = kernels::unitRow(rows.row(i), rows.width, m_rows.data() + i * m_stride);
    });
    for (int i = 0; i < rows.count; ++i) {
        if (finite[i]) m_original.push_back(i);
    }
}

void UnitRows::closeGaps() {
    for (int i = 0; i < count(); ++i) {
        if (m_original[i] == i) continue;
        const float* from = m_rows.data() + m_original[i] * m_stride;
        std::copy_n(from, m_width, m_rows.data() + i * m_stride);
    }
}

void UnitRows::pack() {
    const size_t size = kernels::panelsSize(count(), m_width);
    float* panels = m_panels.reserve(size);
    const int columns = kernels::panelColumns();
    const int whole = count() / columns * columns;
    std::fill(panels + static_cast<size_t>(whole) * m_width, panels + size, 0.0f);
    parallelFor(count(),
                [&](int i) { kernels::packColumn(m_rows.data() + i * m_stride, m_width, i, panels); });
}

}  // namespace mpm
