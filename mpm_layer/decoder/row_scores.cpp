#include "mpm_layer/decoder/row_products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/loops.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::decoder {
namespace {

// Returns the number of the n-th row of `some`, or `n` if `some` is null.
size_t rowAt(const std::vector<int>* some, int n) {
    return static_cast<size_t>(some ? (*some)[static_cast<size_t>(n)] : n);
}

}  // namespace

void multiplyRows(const float* rows, int all, const std::vector<int>* some,
                  const kernels::PackedWeights& weights, const kernels::Epilogue& epilogue, float* output) {
    const int depth = weights.depth(), columns = weights.columns();
    const int wanted = some ? static_cast<int>(some->size()) : all;
    const bool scattered = wanted < all;
    const int group = kernels::rowGroup(), chunk = (64 + group - 1) / group * group;
    parallelRanges((wanted + chunk - 1) / chunk, [&](const cv::Range& range) {
        kernels::Buffer padded, results;
        for (int k = range.start; k < range.end; ++k) {
            const int begin = k * chunk, count = std::min(chunk, wanted - begin);
            const float* from = rows + static_cast<size_t>(begin) * depth;
            float* to = output + static_cast<size_t>(begin) * columns;
            if (scattered || count % group != 0) {  // the product reads whole groups
                float* copy = padded.reserve(kernels::paddedSize(count, depth));
                std::fill_n(copy, kernels::paddedSize(count, depth), 0.f);
                for (int r = 0; r < count; ++r)
                    std::copy_n(rows + rowAt(scattered ? some : nullptr, begin + r) * depth, depth,
                                copy + static_cast<size_t>(r) * depth);
                from = copy;
            }
            if (scattered) to = results.reserve(static_cast<size_t>(count) * columns);
            kernels::product(from, depth, count, weights, epilogue, to, columns);
            for (int r = 0; scattered && r < count; ++r)
                std::copy_n(to + static_cast<size_t>(r) * columns, columns,
                            output + rowAt(some, begin + r) * columns);
        }
    });
}

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
