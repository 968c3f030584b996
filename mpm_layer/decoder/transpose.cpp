#include "mpm_layer/decoder/transpose.hpp"

#include <algorithm>

#include <opencv2/core.hpp>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::decoder {
namespace {

constexpr size_t kTurn = size_t{1} << 14;  // elements that are enough work for a thread
constexpr size_t kLine = 16;               // floats of a cache line
constexpr size_t kLinesAbreast = 4;        // adjacent lines that a thread reads from each row

int grainOf(size_t elements) {
    return static_cast<int>(std::max<size_t>(1, kTurn / std::max<size_t>(1, elements)));
}

// Transposes a square of kLine x kLine floats, or a smaller part at the edges. Lines whose distance is a
// power of two share few sets of the cache, so the function reads and writes each line only once. The lines
// are in different pages, and the processor does not prefetch across pages. So the function prefetches its
// output and the input of the square below.
void turnSquare(const float* from, size_t fromStep, float* to, size_t toStep, size_t rows, size_t columns) {
    float square[kLine][kLine];
    if (rows == kLine && columns == kLine) {
        for (size_t c = 0; c < kLine; ++c)
            __builtin_prefetch(to + c * toStep, 1);
        for (size_t r = 0; r < kLine; ++r) {
            std::copy_n(from + r * fromStep, kLine, square[r]);
            __builtin_prefetch(from + (r + kLine) * fromStep);
        }
        for (size_t c = 0; c < kLine; ++c) {
            float line[kLine];
            for (size_t r = 0; r < kLine; ++r)
                line[r] = square[r][c];
            std::copy_n(line, kLine, to + c * toStep);
        }
        return;
    }
    for (size_t c = 0; c < columns; ++c) {
        for (size_t r = 0; r < rows; ++r)
            to[c * toStep + r] = from[r * fromStep + c];
    }
}

}  // namespace

Transpose::Transpose(const std::vector<int>& sizes, const std::vector<int>& order) {
    std::vector<char> named(sizes.size(), 0);
    bool valid = order.size() == sizes.size();
    for (const int axis : order) {
        valid = valid && axis >= 0 && axis < static_cast<int>(sizes.size()) && !named[axis]++;
        if (valid) m_sizes.push_back(sizes[axis]);
    }
    if (!valid) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: MpmTranspose: attribute perm must name each of %d axes once",
                            static_cast<int>(sizes.size())));
    }
    checkedTotal<size_t>(sizes);
    addAxes(sizes, order);
}

// Drops axes of size 1. Joins two adjacent axes if they are also adjacent, in the same order, in the result.
void Transpose::addAxes(const std::vector<int>& sizes, const std::vector<int>& order) {
    std::vector<size_t> steps(sizes.size(), 1);
    for (size_t k = sizes.size(); k-- > 1;)
        steps[k - 1] = steps[k] * static_cast<size_t>(sizes[k]);
    std::vector<Axis> axes;  // from the last axis of the result to the first
    size_t step = 1;
    for (size_t k = order.size(); k-- > 0;) {
        const auto extent = static_cast<size_t>(sizes[order[k]]);
        const size_t from = steps[order[k]];
        if (extent != 1 && !axes.empty() && axes.back().from * axes.back().extent == from) {
            axes.back().extent *= extent;  // fits: a part of the checked total
        } else if (extent != 1) {
            axes.push_back({extent, from, step});
        }
        step *= extent;  // fits: a part of the checked total
    }
    for (size_t k = 0; k < axes.size(); ++k) {
        if (k == 0) {
            m_last = axes[k].extent;
            m_lastFrom = axes[k].from;
        } else if (axes[k].from == 1) {
            m_first = axes[k].extent;
            m_firstTo = axes[k].to;
        } else {
            m_outer.push_back(axes[k]);
            m_count *= axes[k].extent;  // fits: a part of the checked total
        }
    }
}

void Transpose::find(size_t index, size_t& from, size_t& to) const {
    from = to = 0;
    for (const Axis& axis : m_outer) {
        from += index % axis.extent * axis.from;
        to += index % axis.extent * axis.to;
        index /= axis.extent;
    }
}

void Transpose::copyRuns(const float* from, float* to) const {
    const auto copy = [&](int k) {
        size_t at, there;
        find(static_cast<size_t>(k), at, there);
        std::copy_n(from + at, m_last, to + there);
    };
    if (m_count == 1) return parallelCopy(from, m_last, to);
    parallelFor(checkedCast<int>(m_count), copy, grainOf(m_last));
}

void Transpose::turnTiles(const float* from, float* to) const {
    // A task has kColumns entries of the input's last axis (a few cache lines), and all entries of the
    // result's last axis.
    constexpr size_t kColumns = kLinesAbreast * kLine;
    const size_t tasks = (m_first + kColumns - 1) / kColumns;
    const auto turn = [&](int k) {
        size_t at, there;
        find(static_cast<size_t>(k) / tasks, at, there);
        const size_t first = static_cast<size_t>(k) % tasks * kColumns,
                     end = std::min(m_first, first + kColumns);
        for (size_t row = 0; row < m_last; row += kLine) {
            for (size_t column = first; column < end; column += kLine) {
                turnSquare(from + at + row * m_lastFrom + column, m_lastFrom,
                           to + there + column * m_firstTo + row, m_firstTo, std::min(kLine, m_last - row),
                           std::min(kLine, end - column));
            }
        }
    };
    parallelFor(checkedProduct<int>(m_count, tasks), turn, grainOf(m_last * kColumns));
}

void Transpose::run(const float* from, float* to) const {
    if (std::count(m_sizes.begin(), m_sizes.end(), 0) > 0) return;
    if (m_firstTo == 0) {
        copyRuns(from, to);
    } else {
        turnTiles(from, to);
    }
}

}  // namespace mpm::decoder
