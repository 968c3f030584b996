// The rows of a forward before: rows of the same bits have the same results.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

namespace mpm {

/// For operators that compute each row by itself, behind an encoder that reuses.
class RowMemory {
public:
    /// Remembers the rows of `input` and returns those that differ from the forward before, ascending: all of
    /// them where the sizes differ.
    std::vector<int> update(const cv::Mat& input, int width, int resultWidth);
    /// Results of all rows, to be written where rows differ.
    float* results() { return m_results.data(); }
    void clear();

private:
    std::vector<float> m_rows, m_results;
    int m_width = 0;
};

}  // namespace mpm
