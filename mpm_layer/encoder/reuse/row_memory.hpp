// Memory of the rows and results of the last forward. A row with the same bits has the same result.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// For operators that come after an encoder with reuse and compute each row independently. If most rows
/// differ in several consecutive forwards, comparing costs more than it saves. Then the memory is emptied and
/// rests: it compares nothing for 8 forwards. Each further rest is longer, up to 64 forwards.
class RowMemory {
public:
    /// Remembers `input`. Returns the rows, ascending, that differ from the previous forward; all rows if the
    /// sizes differ; std::nullopt if the memory rests, so that the caller must compute all rows without it.
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
