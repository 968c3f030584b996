#include "models/onnx/eval/call.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpm::models {
namespace {

// Sixteen floats: one AVX-512 register, two of AVX, four of SSE; the compiler splits it.
typedef float Lane __attribute__((vector_size(64), aligned(4)));
constexpr int kRows = 6;
constexpr int kColumns = 32;
constexpr int64_t kDepth = 512;  // a panel of kDepth x kColumns stays in the second-level cache

// The variant is chosen while the program is loaded, before ThreadSanitizer is initialised.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MPM_CLONES __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define MPM_CLONES
#endif

// c (kRows x kColumns) += a (kRows x k, rows `lda` apart) * panel (k x kColumns).
MPM_CLONES void tile(int64_t k, const float* a, int64_t lda, const float* panel, float* c) {
    Lane sum[kRows][2];
    std::memcpy(sum, c, sizeof(sum));
    for (int64_t p = 0; p < k; ++p) {
        const Lane* b = reinterpret_cast<const Lane*>(panel + p * kColumns);
        const Lane low = b[0], high = b[1];
        for (int row = 0; row < kRows; ++row) {
            const float x = a[row * lda + p];
            sum[row][0] += low * x;
            sum[row][1] += high * x;
        }
    }
    std::memcpy(c, sum, sizeof(sum));
}

// B in panels of kColumns columns, the last one filled up with zeros.
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
    float sum[kRows * kColumns];  // fits: both are small constants
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
            std::fill(std::begin(sum), std::end(sum), 0.f);
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
