// Rows as unit vectors, in the two forms that the similarity kernels take.
#pragma once

#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// The finite rows of a view, normalised. Rows that are not finite never pair and are left out; the others
/// keep their order.
class UnitRows {
public:
    explicit UnitRows(const RowsView& rows);

    int count() const { return static_cast<int>(m_original.size()); }
    /// Index in the view of the i-th row kept.
    int original(int i) const { return m_original[i]; }
    const float* rows() const { return m_rows.data(); }
    size_t stride() const { return m_stride; }
    kernels::SimilarityOperands operands() const {
        return {m_rows.data(), m_stride, m_panels.data(), count(), m_width};
    }

private:
    std::vector<char> normalise(const RowsView& rows);
    void closeGaps();
    void pack(int panel, int rows);

    int m_width;
    size_t m_stride;
    kernels::Buffer m_rows, m_panels;
    std::vector<int> m_original;
};

/// Rows of one task: enough to read each panel from the cache several times, few enough to share the work
/// out.
int similarityChunk();

}  // namespace mpm
