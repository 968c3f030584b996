#include "models/onnx/eval/call.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "models/onnx/eval/vectors.hpp"

namespace mpm::models {
namespace {

constexpr int kRows = 6;
constexpr int kColumns = 32;
constexpr int64_t kDepth = 512;  // a panel of kDepth x kColumns stays in the second-level cache

// Adds a product to c (kRows x kColumns): a (kRows x k, rows `lda` floats apart) times panel (k x kColumns).
// Computes two vectors of columns at a time, so that all 6 x 2 sums fit in 16 registers.
template <typename Floats>
[[gnu::always_inline]] inline void multiply(int64_t k, const float* a, int64_t lda, const float* panel,
                                            float* c) {
    constexpr int kLanes = sizeof(Floats) / sizeof(float);
    for (int column = 0; column < kColumns; column += 2 * kLanes) {
        Floats sums[kRows][2];
#pragma GCC unroll 6
        for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half)
                load(c + row * kColumns + column + half * kLanes, sums[row][half]);
        for (int64_t p = 0; p < k; ++p) {
            Floats left, right;
            load(panel + p * kColumns + column, left);
            load(panel + p * kColumns + column + kLanes, right);
#pragma GCC unroll 6
            for (int row = 0; row < kRows; ++row) {
                const float x = a[row * lda + p];
                sums[row][0] += left * x;
                sums[row][1] += right * x;
            }
        }
        for (int row = 0; row < kRows; ++row)
            std::memcpy(c + row * kColumns + column, sums[row], sizeof(sums[row]));
    }
}

using Tile = void (*)(int64_t k, const float* a, int64_t lda, const float* panel, float* c);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void tile16(int64_t k, const float* a, int64_t lda, const float* panel,
                                               float* c) {
    multiply<Floats16>(k, a, lda, panel, c);
}
__attribute__((target("avx2,fma"))) void tile8(int64_t k, const float* a, int64_t lda, const float* panel,
                                               float* c) {
    multiply<Floats8>(k, a, lda, panel, c);
}
#endif

Tile fastestTile() {
#if defined(__x86_64__)
    if (vectorWidth() == Width::Sixteen) return tile16;
    if (vectorWidth() == Width::Eight) return tile8;
#endif
    return multiply<Floats4>;
}

// Copies B into panels of kColumns columns; zeros fill up the last panel.
std::vector<float> pack(int64_t n, int64_t k, const float* b) {
    const int64_t panels = (n + kColumns - 1) / kColumns;
    std::vector<float> packed(static_cast<size_t>(packedBytes(n, k)) / sizeof(float), 0.f);
    for (int64_t panel = 0; panel < panels; ++panel) {
        const int64_t first = panel * kColumns;
        const int64_t width = std::min<int64_t>(kColumns, n - first);
        for (int64_t p = 0; p < k; ++p) {
            std::copy(b + p * n + first, b + p * n + first + width,
                      packed.data() + (panel * k + p) * kColumns);
        }
    }
    return packed;
}

void rows(int64_t begin, int64_t end, int64_t m, int64_t n, int64_t k, const float* a, const float* packed,
          float* c, const Deadline& deadline) {
    static const Tile tile = fastestTile();
    float sum[kRows * kColumns];  // fits: both factors are small constants
    std::vector<float> last(kRows * k, 0.f);
    for (int64_t first = 0; first < n && !deadline.isOver(); first += kColumns) {
        const int64_t width = std::min<int64_t>(kColumns, n - first);
        const float* panel = packed + first / kColumns * k * kColumns;
        for (int64_t row = begin; row < end; row += kRows) {
            const int64_t height = std::min<int64_t>(kRows, m - row);
            const float* from = a + row * k;
            if (height < kRows) {
                std::copy(from, from + height * k, last.begin());
                from = last.data();
            }
            std::memset(sum, 0, sizeof(sum));
            for (int64_t depth = 0; depth < k; depth += kDepth) {
                tile(std::min(kDepth, k - depth), from + depth, k, panel + depth * kColumns, sum);
            }
            for (int64_t r = 0; r < height; ++r) {
                std::copy(sum + r * kColumns, sum + r * kColumns + width, c + (row + r) * n + first);
            }
        }
    }
}

}  // namespace

int64_t packedBytes(int64_t n, int64_t k) {
    return checkedProduct<int64_t>((n + kColumns - 1) / kColumns, k, kColumns, sizeof(float));
}

void gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, const Deadline& deadline,
          bool threads) {
    if (m == 0 || n == 0) return;
    const Held held(packedBytes(n, k), "a matrix product");
    const std::vector<float> packed = pack(n, k, b);
    const int64_t grain = threads ? 16 * kRows : m;
    parallel(m, grain,
             [&](int64_t begin, int64_t end) { rows(begin, end, m, n, k, a, packed.data(), c, deadline); });
    checkTime();
}

}  // namespace mpm::models
