#include "mpm_layer/encoder/reuse/row_memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/loops.hpp"

namespace mpm {
namespace {

constexpr int kGrainOfRows = 64;  // rows of a thread

}  // namespace

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
    std::vector<char> differs(rows);
    parallelFor(
        static_cast<int>(rows),
        [&](int r) {
            const float* const row = now + static_cast<size_t>(r) * width;
            float* const before = &m_rows[static_cast<size_t>(r) * width];
            if (std::memcmp(before, row, width * sizeof(float)) == 0) return;
            std::copy_n(row, width, before);
            differs[r] = 1;
        },
        kGrainOfRows);
    for (size_t r = 0; r < rows; ++r)
        if (differs[r]) differ.push_back(static_cast<int>(r));
    return differ;
}

void RowMemory::clear() {
    m_rows = {};
    m_results = {};
    m_width = 0;
}

}  // namespace mpm
