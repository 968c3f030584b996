#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/decide.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/tokens/screen_operands-inl.h"
#include "mpm_layer/kernels/tokens/screen_terms-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Adds the products to sixteen sums, then adds the sums. The order of all additions is fixed, so the bits do
// not depend on the vectors' width. Products of two f32 are exact in f64, so a fused multiply-add gives the
// same bits as a multiplication and an addition.
HWY_INLINE double dotInDoubles(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int width) {
    constexpr int kSums = 16;
    double sums[kSums] = {};
    int k = 0;
    for (; k + kSums <= width; k += kSums) {
        for (int s = 0; s < kSums; ++s)
            sums[s] += static_cast<double>(a[k + s]) * static_cast<double>(b[k + s]);
    }
    for (int s = 0; k < width; ++k, ++s)
        sums[s] += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    for (int half = kSums / 2; half > 0; half /= 2) {
        for (int s = 0; s < half; ++s)
            sums[s] += sums[s + half];
    }
    return sums[0];
}

double ExactDot(const float* a, const float* b, int width) {
    return dotInDoubles(a, b, width);
}

HWY_INLINE double cosine(const float* a, const float* b, int width, double lengthOfA, double lengthOfB) {
    if (lengthOfA == 0 || lengthOfB == 0) return 0;
    if (std::memcmp(a, b, width * sizeof(float)) == 0) return 1;
    return std::min(1.0, dotInDoubles(a, b, width) / (lengthOfA * lengthOfB));
}

double CosineOf(const float* a, const float* b, int width, double lengthOfA, double lengthOfB) {
    return cosine(a, b, width, lengthOfA, lengthOfB);
}

/// The best of a row's candidates so far. The token with the lowest number wins ties.
struct Decision {
    double value = -std::numeric_limits<double>::infinity();
    int index = -1, token = std::numeric_limits<int>::max();

    HWY_INLINE void keep(double its, int candidate, int itsToken) {
        if (its < value || (its == value && itsToken > token)) return;
        value = its;
        index = candidate;
        token = itsToken;
    }
    /// Returns whether a candidate with this token can still win. If the best cosine is 1, only a candidate
    /// with a lower token number can win.
    HWY_INLINE bool canChange(int itsToken) const { return value < 1 || itsToken < token; }
};

/// Returns the cosine of two rows. `room` is temporary memory for two unit rows.
HWY_INLINE double similarity(const ExactRows& rows, int one, int other, float* room) {
    const int first = rows.tokens[one], last = rows.tokens[other];
    const float *a = rows.data + first * rows.stride, *b = rows.data + last * rows.stride;
    if (rows.lengths) return cosine(a, b, rows.width, rows.lengths[first], rows.lengths[last]);
    float* second = room + rows.width;
    unitRow(a, rows.width, room);
    unitRow(b, rows.width, second);
    return cosine(room, second, rows.width, std::sqrt(dotInDoubles(room, room, rows.width)),
                  std::sqrt(dotInDoubles(second, second, rows.width)));
}

// The number of rows that are decided together: fewer than in a row group of the screen, so that more threads
// can share the few doubtful rows.
constexpr int kDecided = kGroup / 3;

int DecidedTogether() {
    return kDecided;
}

/// Returns whether F (screen.hpp) of any doubtful row and any column of a panel reaches the row's bar.
HWY_INLINE bool mayHoldNearest(const Screen& screen, const DoubtfulRows& doubtful, const ColumnTerms& left,
                               const ColumnTerms& right) {
    const FloatTag d;
    for (int r = 0; r < doubtful.count; ++r) {
        const RowTerms terms(screen, doubtful.rows[r]);
        const Float best = hn::Max(terms.farUpper(left), terms.farUpper(right));
        if (!hn::AllFalse(d, hn::Ge(best, hn::Set(d, doubtful.least[r])))) return true;
    }
    return false;
}

/// Copies the cells of at most kDecided doubtful rows to `cells`, then finds the most similar row for each.
template <class Operand>
HWY_INLINE void decideGroup(const Screen& screen, const ExactRows& exact, const DoubtfulRows& doubtful,
                            float* cells, int* nearest) {
    const FloatTag d;
    const size_t width = panelWidth(), lanes = width / 2;
    for (int r = 0; r < kDecided; ++r)
        std::copy_n(screen.cells + doubtful.rows[std::min(r, doubtful.count - 1)] * screen.stride,
                    screen.depth, cells + r * screen.stride);
    float *sums = cells + kDecided * screen.stride, *room = sums + kDecided * width;
    Decision decisions[kDecided];
    for (int column = 0; column < screen.count; column += width) {
        const ColumnTerms leftTerms(screen, column), rightTerms(screen, column + lanes);
        if (!mayHoldNearest(screen, doubtful, leftTerms, rightTerms)) continue;
        const float* panel = screen.panels + static_cast<size_t>(column) * screen.depth;
        const size_t whole = screen.depth * width;
        Operand::template multiply<kDecided>(screen.depth, cells, screen.stride, panel, screen.margin, sums,
                                             PanelAhead(panel + whole, whole * sizeof(float), screen.depth));
        for (int r = 0; r < doubtful.count; ++r) {
            const int row = doubtful.rows[r];
            const RowTerms terms(screen, row);
            const Float left = terms.upper(Operand::load(sums + r * width), leftTerms);
            const Float right = terms.upper(Operand::load(sums + r * width + lanes), rightTerms);
            const Float least = hn::Set(d, doubtful.least[r]);
            if (hn::AllFalse(d, hn::Ge(hn::Max(left, right), least))) continue;
            HWY_ALIGN float values[2 * HWY_MAX_BYTES / sizeof(float)];
            hn::Store(left, d, values);
            hn::Store(right, d, values + lanes);
            for (int c = 0; c < static_cast<int>(width) && column + c < screen.count; ++c) {
                const int token = exact.tokens[column + c];
                if (values[c] >= doubtful.least[r] && column + c != row && decisions[r].canChange(token))
                    decisions[r].keep(similarity(exact, row, column + c, room), column + c, token);
            }
        }
    }
    for (int r = 0; r < doubtful.count; ++r)
        nearest[r] = decisions[r].index;
}

int DecideBetween(const ExactRows& rows, int row, int one, int other) {
    static thread_local Buffer scratch;
    float* room = scratch.reserve(2 * rows.width);
    Decision decision;
    for (int column : {one, other})
        decision.keep(similarity(rows, row, column, room), column, rows.tokens[column]);
    return decision.index;
}

void DecideRows(const Screen& screen, const ExactRows& exact, const DoubtfulRows& all, int* nearest) {
    static thread_local Buffer scratch;
    float* cells = scratch.reserve(kDecided * (screen.stride + panelWidth()) + 2 * exact.width);
    for (int first = 0; first < all.count; first += kDecided) {
        const DoubtfulRows group{all.rows + first, all.least + first, std::min(kDecided, all.count - first)};
        withOperand(screen.words, [&](auto operand) HWY_ATTR {
            decideGroup<decltype(operand)>(screen, exact, group, cells, nearest + first);
        });
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(DecidedTogether);
HWY_EXPORT(DecideRows);
HWY_EXPORT(DecideBetween);
HWY_EXPORT(ExactDot);
HWY_EXPORT(CosineOf);

int decidedTogether() {
    return HWY_DYNAMIC_DISPATCH(DecidedTogether)();
}

void decideRows(const Screen& screen, const ExactRows& exact, const DoubtfulRows& rows, int* nearest) {
    HWY_DYNAMIC_DISPATCH(DecideRows)(screen, exact, rows, nearest);
}

int decideBetween(const ExactRows& rows, int row, int one, int other) {
    return HWY_DYNAMIC_DISPATCH(DecideBetween)(rows, row, one, other);
}

double exactDot(const float* a, const float* b, int width) {
    return HWY_DYNAMIC_DISPATCH(ExactDot)(a, b, width);
}

double cosineOf(const float* a, const float* b, int width, double lengthOfA, double lengthOfB) {
    return HWY_DYNAMIC_DISPATCH(CosineOf)(a, b, width, lengthOfA, lengthOfB);
}

}  // namespace mpm::kernels
#endif
