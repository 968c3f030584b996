// Remembers rows and results of the last forward: rows with the same bits have the same results.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// For operators after an encoder that reuses, if they compute each row by itself. If most rows differ again
/// and again, comparing costs more than it saves: then the memory rests, longer each time, and holds nothing.
class RowMemory {
public:
    /// Remembers the rows of `input`. Returns those that differ from the forward before, ascending; all rows
    /// if the sizes differ; std::nullopt while the memory rests.
    std::optional<std::vector<int>> update(const cv::Mat& input, int width, int resultWidth);
    /// Returns the results of all rows; the caller must write those of rows that differ.
    float* results() { return m_results.data(); }
    void clear() { *this = RowMemory(); }

private:
    std::vector<int> compare(const float* now, size_t rows);
    bool restsAfter(size_t differ, size_t rows);

    std::vector<float> m_rows, m_results;
    int m_width = 0;
    int m_busy = 0;         ///< forwards in a row in which most rows differed
    int m_rest = 0;         ///< remaining forwards of this rest
    int m_longestRest = 0;  ///< longest rest since most rows were last the same
};

}  // namespace mpm
