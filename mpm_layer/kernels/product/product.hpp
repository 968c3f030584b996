// Products of rows with packed weights, on a single thread: the caller divides rows among threads.
#pragma once

#include <cstddef>
#include <utility>

#include "base/activation.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::kernels {

/// Returns the number of rows in a group. Products compute the rows of a group together, so each thread
/// should get whole groups.
int rowGroup();
/// Returns the number of columns in a panel of a packed right operand.
int panelColumns();

inline int groupsOf(int rows) {
    return (rows + rowGroup() - 1) / rowGroup();
}

/// Returns the distance between rows in temporary memory, in floats: at least a cache line more than the
/// width. Widths are often powers of two; rows at such distances would share only a few sets of a cache.
constexpr size_t paddedStride(int width) {
    return (static_cast<size_t>(width) + 15) / 16 * 16 + 16;
}
/// Returns the number of floats of a left operand with `rows` rows, including the extra rows that products
/// read: products read whole row groups or, in tiles, multiples of 32 rows.
inline size_t paddedSize(int rows, size_t stride) {
    constexpr int kTiles = 32;
    return static_cast<size_t>((groupsOf(rows) * rowGroup() + kTiles - 1) / kTiles * kTiles) * stride;
}

/// A packed right operand: [panel][depth / kDepth][column] cells. A cell holds kDepth neighbours along the
/// depth of the product. Missing columns are zero.
template <class Cell, int kDepth>
class Panels {
public:
    int depth() const { return m_depth; }
    int columns() const { return m_columns; }
    bool kept() const { return m_kept; }
    size_t bytes() const {  ///< bytes in use
        const int width = panelColumns(), panels = (m_columns + width - 1) / width;
        return panels * panelSize() * sizeof(Cell);
    }
    const Cell* panel(int index) const {
        return reinterpret_cast<const Cell*>(m_data.data()) + index * panelSize();
    }

    /// Sets the size of a new operand, whose panels the caller must then fill. Allocates only if the memory
    /// is too small. `kept` is true if many products use the panels. These panels are usually no longer in
    /// the caches when the next product begins, so products in tiles prefetch them.
    void reshape(int depth, int columns, bool kept = false) {
        m_depth = depth;
        m_columns = columns;
        m_kept = kept;
        m_data.reserve(bytes() / sizeof(float));
    }
    Cell* panel(int index) { return const_cast<Cell*>(std::as_const(*this).panel(index)); }

private:
    size_t panelSize() const {
        return static_cast<size_t>(panelColumns()) * ((m_depth + kDepth - 1) / kDepth);
    }

    int m_depth = 0, m_columns = 0;
    bool m_kept = false;
    Buffer m_data;
};

class PackedWeights : public Panels<float, 1> {
public:
    PackedWeights() = default;
    /// Packs weights[k][n], whose rows are `stride` floats apart.
    PackedWeights(const float* weights, size_t stride, int depth, int columns);
};

using mpm::Activation;

/// The operations on a sum before a product stores the sum, in the order of the members. If a pointer is
/// null, its operation is omitted. `residual` and `gate` are matrices, `rowBias` has a value for each row,
/// `bias` and `scale` have a value for each column.
struct Epilogue {
    const float* bias = nullptr;
    const float* rowBias = nullptr;
    const float* residual = nullptr;  ///< is added; its rows are residualStride floats apart
    size_t residualStride = 0;
    bool residualLast = false;  ///< adds the residual after all other operations
    Activation activation = Activation::None;
    const float* gate = nullptr;  ///< is a factor; its rows are gateStride floats apart
    size_t gateStride = 0;
    const float* scale = nullptr;  ///< is a factor
    bool add = false;              ///< adds to the f32 output instead of overwriting it
};

/// Computes output[r][n] = epilogue(sum over k of rows[r][k] * weights[k][n]). Whole row groups must be
/// readable: see paddedSize.
void product(const float* rows, size_t rowStride, int count, const PackedWeights& weights,
             const Epilogue& epilogue, float* output, size_t outputStride);

/// Applies an activation without a product: out[k] = activation(in[k]); `in` and `out` may be the same. The
/// bits of an element do not depend on its position.
void activate(Activation activation, const float* in, size_t count, float* out);

}  // namespace mpm::kernels
