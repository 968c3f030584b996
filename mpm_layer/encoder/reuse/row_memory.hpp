// Memory of the rows and results of the last forward. A row with the same bits has the same result.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// Helps operators that come after an encoder with reuse and compute each row independently. If most rows
/// differ in 4 consecutive forwards, comparisons cost more time than they save. The memory is then emptied
/// and rests: it compares nothing for 8 forwards. Each further rest is twice as long, up to 64 forwards.
class RowMemory {
public:
    /// Remembers `input`. Returns, in ascending order, the rows of `input` that changed since the previous
    /// forward; all rows if the memory was empty or the sizes changed. While the memory rests, returns
    /// std::nullopt: the caller must then compute all rows.
    std::optional<std::vector<int>> update(const cv::Mat& input, int width, int resultWidth);
    /// Returns the results of all rows. The caller must write the results of rows that differ.
    float* results() { return m_results.data(); }
    void clear() { *this = RowMemory(); }

private:
    std::vector<int> compare(const float* now, size_t rows);
    bool restsAfter(size_t differ, size_t rows);

    std::vector<float> m_rows, m_results;
    int m_width = 0;
    int m_busy = 0;         ///< consecutive forwards in which most rows differed
    int m_rest = 0;         ///< forwards until the memory compares again
    int m_longestRest = 0;  ///< forwards of the previous rest; 0 after most rows were equal
};

}  // namespace mpm
