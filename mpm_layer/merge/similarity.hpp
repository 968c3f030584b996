// Rows as unit vectors, and as the columns that the similarity kernels take.
#pragma once

#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// The finite rows of a view, normalised. The constructor drops rows that are not finite, because they never
/// pair. The other rows keep their order.
class UnitRows {
public:
    explicit UnitRows(const RowsView& rows);

    int count() const { return static_cast<int>(m_original.size()); }
    int width() const { return m_width; }
    /// Returns the index, in the view, of the i-th kept row.
    int original(int i) const { return m_original[i]; }
    const float* rows() const { return m_rows.data(); }
    const float* row(int i) const { return m_rows.data() + i * m_stride; }
    size_t stride() const { return m_stride; }

private:
    void closeGaps();

    int m_width;
    size_t m_stride;
    kernels::Buffer m_rows;
    std::vector<int> m_original;
};

kernels::Buffer packColumns(const float* rows, size_t stride, int count, int width);

/// Returns the number of rows of a parallel task. A task has enough rows to read each panel from the cache
/// several times, but few enough that all threads get work.
int similarityChunk();

}  // namespace mpm
