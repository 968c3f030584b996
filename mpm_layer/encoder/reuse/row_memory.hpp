// The rows of a forward before: rows of the same bits have the same results.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// For operators that compute each row by itself, behind an encoder that reuses. If most rows differ again
/// and again, it is cheaper not to compare: the memory then rests, longer each time, and holds nothing.
class RowMemory {
public:
    /// Remembers the rows of `input` and returns those that differ from the forward before, ascending: all if
    /// the sizes differ. std::nullopt while the memory rests.
    std::optional<std::vector<int>> update(const cv::Mat& input, int width, int resultWidth);
    /// Results of all rows, to be written where rows differ.
    float* results() { return m_results.data(); }
    void clear() { *this = RowMemory(); }

private:
    std::vector<int> compare(const float* now, size_t rows);
    bool restsAfter(size_t differ, size_t rows);

    std::vector<float> m_rows, m_results;
    int m_width = 0;
    int m_busy = 0;         ///< forwards in a row in which most rows differed
    int m_rest = 0;         ///< forwards that are left to rest
    int m_longestRest = 0;  ///< of the rests since rows were the same
};

}  // namespace mpm
