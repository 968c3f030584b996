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
    m_panels.reserve(kernels::panelsSize(rows.count, m_width));
    const std::vector<char> finite = normalise(rows);
    for (int i = 0; i < rows.count; ++i) {
        if (finite[i]) m_original.push_back(i);
    }
    if (count() < rows.count) closeGaps();
}

// A panel's rows are packed while they are near.
std::vector<char> UnitRows::normalise(const RowsView& rows) {
    const int columns = kernels::panelColumns();
    std::vector<char> finite(rows.count);
    parallelFor((rows.count + columns - 1) / columns, [&](int panel) {
        for (int i = panel * columns; i < std::min(rows.count, (panel + 1) * columns); ++i)
            finite[i] = kernels::unitRow(rows.row(i), rows.width, m_rows.data() + i * m_stride);
        pack(panel, rows.count);
    });
    return finite;
}

void UnitRows::closeGaps() {
    for (int i = 0; i < count(); ++i) {
        if (m_original[i] == i) continue;
        const float* from = m_rows.data() + m_original[i] * m_stride;
        std::copy_n(from, m_width, m_rows.data() + i * m_stride);
    }
    const int columns = kernels::panelColumns();
    parallelFor((count() + columns - 1) / columns, [&](int panel) { pack(panel, count()); });
}

void UnitRows::pack(int panel, int rows) {
    const int columns = kernels::panelColumns(), first = panel * columns;
    kernels::packPanel(m_rows.data() + first * m_stride, m_stride, std::min(columns, rows - first), m_width,
                       panel, m_panels.data());
}

}  // namespace mpm
