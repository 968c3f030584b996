#include "mpm_layer/encoder/reuse/row_memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/loops.hpp"

namespace mpm {
namespace {

constexpr int kGrainOfRows = 64;  // rows of a parallel task
constexpr int kBusyBeforeRest = 4, kShortestRest = 8, kLongestRest = 64;

}  // namespace

std::optional<std::vector<int>> RowMemory::update(const cv::Mat& input, int width, int resultWidth) {
    if (m_rest > 0) {
        --m_rest;
        return std::nullopt;
    }
    const size_t rows = input.total() / width, results = rows * resultWidth;
    const float* now = input.ptr<float>();
    if (m_width != width || m_rows.size() != input.total() || m_results.size() != results) {
        m_width = width;
        m_rows.assign(now, now + input.total());
        m_results.resize(results);
        std::vector<int> all(rows);
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    std::vector<int> differ = compare(now, rows);
    if (restsAfter(differ.size(), rows)) return std::nullopt;
    return differ;
}

std::vector<int> RowMemory::compare(const float* now, size_t rows) {
    std::vector<char> differs(rows);
    parallelFor(
        static_cast<int>(rows),
        [&](int r) {
            const float* const row = now + static_cast<size_t>(r) * m_width;
            float* const before = &m_rows[static_cast<size_t>(r) * m_width];
            if (std::memcmp(before, row, m_width * sizeof(float)) == 0) return;
            std::copy_n(row, m_width, before);
            differs[r] = 1;
        },
        kGrainOfRows);
    std::vector<int> differ;
    for (size_t r = 0; r < rows; ++r)
        if (differs[r]) differ.push_back(static_cast<int>(r));
    return differ;
}

// Returns whether the memory begins to rest. After a rest, the first comparison may begin the next rest.
bool RowMemory::restsAfter(size_t differ, size_t rows) {
    m_busy = 2 * differ > rows ? m_busy + 1 : 0;
    if (m_busy == 0) m_longestRest = 0;
    if (m_busy < kBusyBeforeRest) return false;
    m_busy = kBusyBeforeRest - 1;
    m_longestRest = m_rest = std::clamp(2 * m_longestRest, kShortestRest, kLongestRest);
    m_rows = {};
    m_results = {};
    return true;
}

}  // namespace mpm
