#include "mpm_layer/kernels/tokens/screen.hpp"

#include <algorithm>
#include <vector>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/screen.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/tokens/leads-inl.h"
#include "mpm_layer/kernels/tokens/screen_operands-inl.h"
#include "mpm_layer/kernels/tokens/screen_terms-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The largest number of rows that a call to findLeads() examines. Each call loads the ColumnTerms of a panel
// again, so fewer calls, each for several row groups, take less time.
constexpr int kFollowed = 3 * kGroup;

/// Updates leads from `sums`, the products of rows first..first+rows and a panel. Each product updates the
/// leads of its row and of its column, so each row is multiplied only by later columns. The leads of the
/// columns stay in registers.
template <class Operand>
HWY_INLINE void findLeads(const Screen& screen, const float* sums, int first, int rows,
                          const Columns& columns, float* rowLeads, size_t rowCells, Leads& leads) {
    const size_t lanes = hn::Lanes(FloatTag()), width = 2 * lanes;
    const bool masked = !columns.whole || columns.first < first + rows;
    const ColumnTerms leftTerms(screen, columns.first), rightTerms(screen, columns.first + lanes);
    LaneLeads leftLeads, rightLeads;
    for (int r = 0; r < rows; ++r, sums += width, rowLeads += lanes) {
        const RowTerms terms(screen, first + r);
        Float left = terms.upper(Operand::load(sums), leftTerms);
        Float right = terms.upper(Operand::load(sums + lanes), rightTerms);
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

/// Compares rows first..first+rows of a screen with later columns. Each vector lane keeps separate leads of
/// the rows; finish() merges these leads.
template <class Operand>
class Sweep {
public:
    HWY_INLINE Sweep(const Screen& screen, int first, int rows, Leads& leads)
        : m_screen(screen), m_first(first), m_rows(rows), m_leads(leads) {
        static thread_local Buffer scratch;
        const size_t width = panelWidth();
        m_apart = static_cast<size_t>(rows) * (width / 2);
        m_rowLeads = scratch.reserve(3 * m_apart + kFollowed * width);
        m_sums = m_rowLeads + 3 * m_apart;
        forget(m_rowLeads, m_apart);
    }

    /// Multiplies the panel at `column` by rows from..to (counted from m_first), and updates the leads. Skips
    /// row groups for which `matters` returns false.
    template <class Matters>
    HWY_INLINE void follow(int column, int from, int to, const Matters& matters) {
        const size_t width = panelWidth(), panelSize = m_screen.depth * width;
        const float* panel = m_screen.panels + static_cast<size_t>(column) * m_screen.depth;
        const size_t piece = panelSize / ((to - from + kGroup - 1) / kGroup);
        const float* next = panel + panelSize;
        int waiting = 0;  // rows before `row` that are multiplied, but not yet examined
        for (int row = from; row < to; row += kGroup) {
            const int here = std::min(kGroup, to - row);
            if (matters(m_first + row, here)) {
                Operand::template multiply<kGroup>(
                    m_screen.depth, m_screen.cells + (m_first + row) * m_screen.stride, m_screen.stride,
                    panel, m_screen.margin, m_sums + waiting * width,
                    PanelAhead(next, piece * sizeof(float), m_screen.depth));
                next += piece;
                waiting += here;
                if (waiting + kGroup <= kFollowed && row + kGroup < to) continue;
                look(column, row + here - waiting, waiting);
            } else {
                look(column, row - waiting, waiting);
            }
            waiting = 0;
        }
    }

    HWY_INLINE void finish() { keepRows(m_rowLeads, m_rows, m_apart, m_leads, m_first); }

private:
    HWY_INLINE void look(int column, int row, int rows) {
        if (rows == 0) return;
        findLeads<Operand>(m_screen, m_sums, m_first + row, rows, Columns(column, m_screen.count),
                           m_rowLeads + row * panelWidth() / 2, m_apart, m_leads);
    }

    const Screen& m_screen;
    int m_first, m_rows;
    Leads& m_leads;
    size_t m_apart;
    float *m_rowLeads, *m_sums;
};

struct Always {
    HWY_INLINE bool operator()(int, int) const { return true; }
};

/// Tests whether a row of a group may be the row most similar to a column of a panel, or the reverse.
class MayLead {
public:
    HWY_INLINE MayLead(const Screen& screen, const FarBars& bars, int first, int rows)
        : m_screen(screen), m_bars(bars), m_first(first) {
        for (int r = 0; r < rows; r += kGroup)
            m_groups.push_back(extentOf(screen, bars.least, first + r, std::min(kGroup, rows - r)));
    }

    HWY_INLINE void setPanel(int column) { m_column = column; }

    HWY_INLINE bool operator()(int first, int rows) const {
        const Extent& panel = m_bars.panels[m_column / static_cast<int>(panelWidth())];
        if (panel.isFarFrom(m_groups[(first - m_first) / kGroup])) return false;
        const FloatTag d;
        const size_t right = m_column + hn::Lanes(d);
        const ColumnTerms leftTerms(m_screen, m_column), rightTerms(m_screen, right);
        const Float leftLeast = hn::LoadU(d, m_bars.least + m_column);
        const Float rightLeast = hn::LoadU(d, m_bars.least + right);
        for (int row = first; row < first + rows; ++row) {
            const RowTerms terms(m_screen, row);
            const Float least = hn::Set(d, m_bars.least[row]);
            const auto leftMay = hn::Ge(terms.farUpper(leftTerms), hn::Min(least, leftLeast));
            const auto rightMay = hn::Ge(terms.farUpper(rightTerms), hn::Min(least, rightLeast));
            if (!hn::AllFalse(d, hn::Or(leftMay, rightMay))) return true;
        }
        return false;
    }

private:
    const Screen& m_screen;
    const FarBars& m_bars;
    int m_first, m_column = 0;
    std::vector<Extent> m_groups;
};

/// Returns how many of the rows first..first+rows are more than a panel's width before `column`, rounded down
/// to whole row groups.
HWY_INLINE int farRows(int first, int rows, int column) {
    const int before = column - static_cast<int>(panelWidth()) - first;
    return std::clamp(before / kGroup * kGroup, 0, rows);
}

template <class Operand>
HWY_INLINE void screenNear(const Screen& screen, int first, int rows, Leads& leads) {
    const int width = static_cast<int>(panelWidth());
    Sweep<Operand> sweep(screen, first, rows, leads);
    for (int column = first / width * width; column < screen.count; column += width) {
        const int from = farRows(first, rows, column), to = std::min(rows, column + width - first);
        if (from == rows) break;
        sweep.follow(column, from, to, Always());
    }
    sweep.finish();
}

template <class Operand>
HWY_INLINE void screenFar(const Screen& screen, const FarBars& bars, int first, int rows, Leads& leads) {
    const int width = static_cast<int>(panelWidth());
    Sweep<Operand> sweep(screen, first, rows, leads);
    MayLead mayLead(screen, bars, first, rows);
    for (int column = first / width * width; column < screen.count; column += width) {
        mayLead.setPanel(column);
        const int to = farRows(first, rows, column);
        if (to > 0) sweep.follow(column, 0, to, mayLead);
    }
    sweep.finish();
}

void ScreenNear(const Screen& screen, int first, int rows, Leads& leads) {
    withOperand(screen.words,
                [&](auto operand) HWY_ATTR { screenNear<decltype(operand)>(screen, first, rows, leads); });
}

void ScreenFar(const Screen& screen, const FarBars& bars, int first, int rows, Leads& leads) {
    withOperand(screen.words, [&](auto operand) HWY_ATTR {
        screenFar<decltype(operand)>(screen, bars, first, rows, leads);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(ScreenNear);
HWY_EXPORT(ScreenFar);

void screenNear(const Screen& screen, int first, int rows, Leads& leads) {
    HWY_DYNAMIC_DISPATCH(ScreenNear)(screen, first, rows, leads);
}

void screenFar(const Screen& screen, const FarBars& bars, int first, int rows, Leads& leads) {
    HWY_DYNAMIC_DISPATCH(ScreenFar)(screen, bars, first, rows, leads);
}

}  // namespace mpm::kernels
#endif
