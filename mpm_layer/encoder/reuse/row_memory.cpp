#include "mpm_layer/encoder/reuse/row_memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace mpm {

std::vector<int> RowMemory::update(const cv::Mat& input, int width, int resultWidth) {
    const size_t rows = input.total() / width, results = rows * resultWidth;
    const float* now = input.ptr<float>();
    std::vector<int> differ;
    if (m_width != width || m_rows.size() != input.total() || m_results.size() != results) {
        m_width = width;
        m_rows.assign(now, now + input.total());
        m_results.resize(results);
        differ.resize(rows);
        std::iota(differ.begin(), differ.end(), 0);
        return differ;
    }
    for (size_t r = 0; r < rows; ++r) {
        float* before = &m_rows[r * width];
        if (std::memcmp(before, now + r * width, width * sizeof(float)) == 0) continue;
        std::copy_n(now + r * width, width, before);
        differ.push_back(static_cast<int>(r));
    }
    return differ;
}

void RowMemory::clear() {
    m_rows = {};
    m_results = {};
    m_width = 0;
}

}  // namespace mpm
