// Transposes an array: copies it with another order of axes.
#pragma once

#include <cstddef>
#include <vector>

namespace mpm::decoder {

/// Axis k of the result is axis order[k] of `sizes`. Throws if `order` does not name every axis once, or if
/// the number of elements does not fit in a size_t.
class Transpose {
public:
    Transpose(const std::vector<int>& sizes, const std::vector<int>& order);

    const std::vector<int>& sizes() const { return m_sizes; }  ///< of the result
    void run(const float* from, float* to) const;

private:
    /// An outer axis, which is last neither in the input nor in the result. `from`, `to`: the number of
    /// elements from one entry to the next, in the input and in the result.
    struct Axis {
        size_t extent, from, to;
    };

    void addAxes(const std::vector<int>& sizes, const std::vector<int>& order);
    /// Finds the offsets of entry `index` of the outer axes in the input and in the result.
    void find(size_t index, size_t& from, size_t& to) const;
    void copyRuns(const float* from, float* to) const;
    void turnTiles(const float* from, float* to) const;

    std::vector<int> m_sizes;
    std::vector<Axis> m_outer;
    size_t m_count = 1;  ///< number of entries of the outer axes
    // m_last: extent of the result's last axis. In the input, its entries are m_lastFrom elements apart.
    // m_first: extent of the input's last axis. In the result, its entries are m_firstTo elements apart. If
    // both axes are the same axis, m_firstTo is 0, and run() copies runs of elements.
    size_t m_last = 1, m_lastFrom = 1;
    size_t m_first = 1, m_firstTo = 0;
};

}  // namespace mpm::decoder
