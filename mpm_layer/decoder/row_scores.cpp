#include "mpm_layer/decoder/row_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/loops.hpp"

namespace mpm::decoder {
namespace {

constexpr int kGrain = 1 << 14;  // values that are enough work for a thread

float largest(const float* scores, int count) {
    float best = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < count; ++i)
        best = scores[i] > best ? scores[i] : best;
    if (std::isfinite(best) || best > 0) return best;
    const bool anyNumber = std::any_of(scores, scores + count, [](float s) { return !std::isnan(s); });
    return anyNumber ? best : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void largestOfRows(const float* scores, int rows, int columns, float* to) {
    parallelFor(
        rows, [&](int r) { to[r] = largest(scores + static_cast<size_t>(r) * columns, columns); },
        std::max(kGrain / columns, 1));
}

std::vector<int> bestScores(const float* scores, int count, int k) {
    const auto before = [&](int a, int b) {
        const bool aIsNumber = !std::isnan(scores[a]), bIsNumber = !std::isnan(scores[b]);
        if (aIsNumber != bIsNumber) return aIsNumber;
        return aIsNumber && scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (k < count) std::nth_element(order.begin(), order.begin() + k, order.end(), before);
    order.resize(k);
    std::sort(order.begin(), order.end(), before);
    return order;
}

void gatherRows(const float* from, int width, const int* indices, int count, float* to) {
    parallelFor(
        count,
        [&](int i) {
            std::copy_n(from + static_cast<size_t>(indices[i]) * width, width,
                        to + static_cast<size_t>(i) * width);
        },
        std::max(kGrain / std::max(width, 1), 1));
}

}  // namespace mpm::decoder
