#include "mpm_layer/kernels/tokens/screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/screen.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/tokens/leads-inl.h"
#include "mpm_layer/kernels/tokens/screen_operands-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// Leads lane by lane, kept in memory as [value][index][second].
struct LaneLeads {
    Float value, second;
    Index index;

    HWY_INLINE LaneLeads() : value(hn::Set(FloatTag(), kNever)), second(value), index(hn::Zero(IndexTag())) {}

    HWY_INLINE explicit LaneLeads(const float* from, size_t apart)
        : value(hn::Load(FloatTag(), from)),
          second(hn::Load(FloatTag(), from + 2 * apart)),
          index(hn::Load(IndexTag(), reinterpret_cast<const int*>(from + apart))) {}

    HWY_INLINE void keep(Float its, Index where) {
        second = hn::Max(second, hn::Min(its, value));
        const auto larger = hn::Gt(its, value);
        index = hn::IfThenElse(hn::RebindMask(IndexTag(), larger), where, index);
        value = hn::IfThenElse(larger, its, value);
    }

    HWY_INLINE void keepBoth(Float left, Float right, const Columns& columns) {
        const auto fromRight = hn::RebindMask(IndexTag(), hn::Gt(right, left));
        second = hn::Max(second, hn::Min(left, right));
        keep(hn::Max(left, right), hn::IfThenElse(fromRight, columns.right, columns.left));
    }

    HWY_INLINE void keepIn(Leads& leads, size_t first) const {
        LeadVectors all(leads, first);
        all.keep(value, index);
        all.keepRest(second);
        all.store(leads, first);
    }

    HWY_INLINE void store(float* to, size_t apart) const {
        hn::Store(value, FloatTag(), to);
        hn::Store(index, IndexTag(), reinterpret_cast<int*>(to + apart));
        hn::Store(second, FloatTag(), to + 2 * apart);
    }
};

/// Steps, shifts and places of one vector of columns.
struct ColumnTerms {
    Float step, shift, place[kDirections];

    HWY_INLINE ColumnTerms(const Screen& screen, size_t column) {
        const FloatTag d;
        step = hn::LoadU(d, screen.steps + column);
        shift = hn::LoadU(d, screen.shifts + column);
#pragma GCC unroll 4
        for (int l = 0; l < kDirections; ++l)
            place[l] = hn::LoadU(d, screen.places + l * screen.apart + column);
    }
};

/// Those of a row.
struct RowTerms {
    float step, shift, place[kDirections];

    HWY_INLINE RowTerms(const Screen& screen, int row) : step(screen.steps[row]), shift(screen.shifts[row]) {
#pragma GCC unroll 4
        for (int l = 0; l < kDirections; ++l)
            place[l] = screen.places[l * screen.apart + row];
    }
};

/// U of a row's sums with one vector of columns.
template <class Operand>
HWY_INLINE Float upper(const float* sums, const RowTerms& row, const ColumnTerms& columns) {
    const FloatTag d;
    Float sum = hn::Add(hn::Set(d, row.shift), columns.shift);
#pragma GCC unroll 4
    for (int l = 0; l < kDirections; ++l) {
        const Float away = hn::Sub(hn::Set(d, row.place[l]), columns.place[l]);
        sum = hn::NegMulAdd(away, away, sum);
    }
    return hn::MulAdd(Operand::load(sums), hn::Mul(hn::Set(d, row.step), columns.step), sum);
}

// Several groups: what is done once for a panel's columns then takes less of the time.
constexpr int kFollowed = 3 * kGroup;

/// The sums of `rows` rows from `first` on with a panel. Only pairs above the diagonal count. The columns'
/// leads stay in registers over the rows.
template <class Operand>
HWY_INLINE void follow(const Screen& screen, const float* sums, int first, int rows, const Columns& columns,
                       float* rowLeads, size_t rowCells, Leads& leads) {
    const size_t lanes = hn::Lanes(FloatTag()), width = 2 * lanes;
    const bool masked = !columns.whole || columns.first < first + rows;
    const ColumnTerms leftTerms(screen, columns.first), rightTerms(screen, columns.first + lanes);
    LaneLeads leftLeads, rightLeads;
    for (int r = 0; r < rows; ++r, sums += width, rowLeads += lanes) {
        const RowTerms terms(screen, first + r);
        Float left = upper<Operand>(sums, terms, leftTerms);
        Float right = upper<Operand>(sums + lanes, terms, rightTerms);
        if (masked) {
            left = between(left, columns.left, first + r, columns.limit);
            right = between(right, columns.right, first + r, columns.limit);
        }
        const Index row = hn::Set(IndexTag(), first + r);
        leftLeads.keep(left, row);
        rightLeads.keep(right, row);
        LaneLeads own(rowLeads, rowCells);
        own.keepBoth(left, right, columns);
        own.store(rowLeads, rowCells);
    }
    leftLeads.keepIn(leads, columns.first);
    rightLeads.keepIn(leads, columns.first + lanes);
}

HWY_INLINE void forget(float* leads, size_t cells) {
    std::fill(leads, leads + cells, kNever);
    std::fill(leads + 2 * cells, leads + 3 * cells, kNever);
}

/// Takes the best of a row's lanes out of them. Returns its value.
HWY_INLINE float takeBest(Float& value, const int* indices, int& index) {
    const FloatTag d;
    const Float best = hn::MaxOfLanes(d, value);
    const auto lane = static_cast<int>(hn::FindKnownFirstTrue(d, hn::Eq(value, best)));
    const auto taken = hn::Eq(hn::Iota(IndexTag(), 0), hn::Set(IndexTag(), lane));
    value = hn::IfThenElse(hn::RebindMask(d, taken), hn::Set(d, kNever), value);
    index = indices[lane];
    return hn::GetLane(best);
}

/// Rows `first` on, whose leads were kept lane by lane.
HWY_INLINE void keepRows(const float* rowLeads, int rows, size_t apart, Leads& leads, int first) {
    const FloatTag d;
    const size_t lanes = hn::Lanes(d);
    Leads found(rows);
    for (int r = 0; r < rows; ++r, rowLeads += lanes) {
        const auto* indices = reinterpret_cast<const int*>(rowLeads + apart);
        Float values = hn::Load(d, rowLeads);
        found.value[r] = takeBest(values, indices, found.index[r]);
        found.second[r] = takeBest(values, indices, found.secondIndex[r]);
        const Float others = hn::Max(values, hn::Load(d, rowLeads + 2 * apart));
        found.rest[r] = hn::GetLane(hn::MaxOfLanes(d, others));
    }
    keepLeads(found, 0, leads, first, rows);
}

template <class Operand>
HWY_INLINE void screenAll(const Screen& screen, int first, int rows, Leads& leads) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth(), lanes = width / 2, rowCells = static_cast<size_t>(rows) * lanes;
    float* rowLeads = scratch.reserve(3 * rowCells + kFollowed * width);
    float* sums = rowLeads + 3 * rowCells;
    forget(rowLeads, rowCells);
    for (int column = first / width * width; column < screen.count; column += width) {
        const Columns columns(column, screen.count);
        const float* panel = screen.panels + static_cast<size_t>(column) * screen.depth;
        const int useful = std::min(rows, column + static_cast<int>(width) - first);
        const size_t piece = screen.depth * width / ((useful + kGroup - 1) / kGroup);
        const float* next = panel + screen.depth * width;
        for (int row = 0; row < useful; row += kFollowed) {
            const int here = std::min(kFollowed, useful - row);
            for (int r = 0; r < here; r += kGroup, next += piece) {
                Operand::template multiply<kGroup>(
                    screen.depth, screen.cells + (first + row + r) * screen.stride, screen.stride, panel,
                    screen.margin, sums + r * width, PanelAhead(next, piece * sizeof(float), screen.depth));
            }
            follow<Operand>(screen, sums, first + row, here, columns, rowLeads + row * lanes, rowCells,
                            leads);
        }
    }
    keepRows(rowLeads, rows, rowCells, leads, first);
}

void ScreenChunk(const Screen& screen, int first, int rows, Leads& leads) {
    withOperand(screen.words,
                [&](auto operand) HWY_ATTR { screenAll<decltype(operand)>(screen, first, rows, leads); });
}

// Sums in sixteen chains, added in pairs: the same order for vectors of any length. Fused or not, each
// product of two f32 is exact in f64.
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

/// The best of a row's candidates, which come in ascending order.
struct Decision {
    double value = -std::numeric_limits<double>::infinity();
    int index = -1;

    HWY_INLINE void keep(double its, int candidate) {
        if (!(its > value)) return;
        value = its;
        index = candidate;
    }
};

/// `room` is for two unit rows.
HWY_INLINE double similarity(const ExactRows& rows, int one, int other, float* room) {
    const float *a = rows.data + one * rows.stride, *b = rows.data + other * rows.stride;
    if (rows.lengths) return cosine(a, b, rows.width, rows.lengths[one], rows.lengths[other]);
    float* second = room + rows.width;
    unitRow(a, rows.width, room);
    unitRow(b, rows.width, second);
    return cosine(room, second, rows.width, std::sqrt(dotInDoubles(room, room, rows.width)),
                  std::sqrt(dotInDoubles(second, second, rows.width)));
}

// Fewer than in the screen: doubtful rows are few, and threads share them.
constexpr int kDecided = kGroup / 3;

int DecidedTogether() {
    return kDecided;
}

/// At most kDecided rows, whose cells are gathered.
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
        const float* panel = screen.panels + static_cast<size_t>(column) * screen.depth;
        const size_t whole = screen.depth * width;
        Operand::template multiply<kDecided>(screen.depth, cells, screen.stride, panel, screen.margin, sums,
                                             PanelAhead(panel + whole, whole * sizeof(float), screen.depth));
        const ColumnTerms leftTerms(screen, column), rightTerms(screen, column + lanes);
        for (int r = 0; r < doubtful.count; ++r) {
            const int row = doubtful.rows[r];
            const RowTerms terms(screen, row);
            const Float left = upper<Operand>(sums + r * width, terms, leftTerms);
            const Float right = upper<Operand>(sums + r * width + lanes, terms, rightTerms);
            const Float least = hn::Set(d, doubtful.least[r]);
            if (hn::AllFalse(d, hn::Ge(hn::Max(left, right), least))) continue;
            HWY_ALIGN float values[2 * HWY_MAX_BYTES / sizeof(float)];
            hn::Store(left, d, values);
            hn::Store(right, d, values + lanes);
            for (int c = 0; c < static_cast<int>(width) && column + c < screen.count; ++c) {
                // Nothing that comes later beats a cosine of 1.
                if (values[c] >= doubtful.least[r] && column + c != row && decisions[r].value < 1)
                    decisions[r].keep(similarity(exact, row, column + c, room), column + c);
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
    decision.keep(similarity(rows, row, std::min(one, other), room), std::min(one, other));
    decision.keep(similarity(rows, row, std::max(one, other), room), std::max(one, other));
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

HWY_EXPORT(ScreenChunk);
HWY_EXPORT(DecidedTogether);
HWY_EXPORT(DecideRows);
HWY_EXPORT(DecideBetween);
HWY_EXPORT(ExactDot);
HWY_EXPORT(CosineOf);

void screenChunk(const Screen& screen, int first, int rows, Leads& leads) {
    HWY_DYNAMIC_DISPATCH(ScreenChunk)(screen, first, rows, leads);
}

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
