#include "mpm_layer/merge/screened_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

kernels::TokenRows tokenRows(const RowsView& view) {
    return {view.data, view.stride, view.width};
}

}  // namespace

ScreenedRows::ScreenedRows(const RowsView& tokens, Team& team)
    : m_view(tokens),
      m_count(tokens.count),
      m_width(tokens.width),
      m_words(kernels::screensWords(m_width)),
      m_depth(kernels::screenCells(m_width, m_words)),
      m_panelCount((m_count + kernels::panelColumns() - 1) / kernels::panelColumns()),
      m_stride(kernels::paddedStride(m_depth)),
      m_extents(m_panelCount) {
    m_cells.reserve(kernels::paddedSize(m_count, m_stride));
    m_panels.reserve(kernels::panelsSize(m_count, m_depth));
    const size_t whole = static_cast<size_t>(m_panelCount) * kernels::panelColumns();
    m_steps.resize(whole);
    m_shifts.resize(whole, -kInfinity);
    m_slacks.resize(whole);
    m_norms.resize(whole);
    m_places.resize(kernels::kDirections * whole);
    m_bars.resize(whole);
    const Basis basis(tokens);
    const kernels::ScreenBasis view = basis.view();
    std::vector<kernels::PlacedRow> placed(m_count);
    team.each(m_panelCount, [&](int panel, int) {
        kernels::placeRows(tokenRows(m_view), panel * kernels::panelColumns(), rowsOf(panel), view,
                           placed.data());
    });
    sortTokens(placed);
    std::vector<kernels::CentredRow> largest(m_panelCount);
    team.each(m_panelCount, [&](int panel, int) { largest[panel] = centrePanel(placed, view, panel); });
    float reach = 0, error = 0;
    for (const kernels::CentredRow& one : largest) {
        reach = std::max(reach, one.reach);
        error = std::max(error, one.error);
    }
    m_margin = kernels::screenMargin(reach, error, m_width, m_words);
}

/// Sorts tokens by their place along the first direction: divides the range of places into many equal parts,
/// and sorts by part. Tokens in the same part keep their order.
void ScreenedRows::sortTokens(const std::vector<kernels::PlacedRow>& placed) {
    const auto before = [](const kernels::PlacedRow& a, const kernels::PlacedRow& b) {
        return a.place[0] < b.place[0];
    };
    m_tokens.resize(m_count);
    if (m_count == 0) return;
    const auto [lowest, highest] = std::minmax_element(placed.begin(), placed.end(), before);
    const float low = lowest->place[0], range = highest->place[0] - low;
    const int parts = 2 * m_count;
    const float scale = range > 0 ? static_cast<float>(parts - 1) / range : 0.0f;
    const auto partOf = [&](int token) {
        return std::clamp(static_cast<int>((placed[token].place[0] - low) * scale), 0, parts - 1);
    };
    std::vector<int> next(parts + 1, 0);
    for (int token = 0; token < m_count; ++token)
        ++next[partOf(token) + 1];
    for (int part = 0; part < parts; ++part)
        next[part + 1] += next[part];
    for (int token = 0; token < m_count; ++token)
        m_tokens[next[partOf(token)]++] = token;
}

int ScreenedRows::rowsOf(int panel) const {
    const int columns = kernels::panelColumns();
    return std::min(columns, m_count - panel * columns);
}

/// Centres and packs the rows of a panel while they are in the cache. Sets only two members of the result:
/// the largest `reach` and the largest `error` of the rows.
kernels::CentredRow ScreenedRows::centrePanel(const std::vector<kernels::PlacedRow>& placed,
                                              const kernels::ScreenBasis& basis, int panel) {
    const int first = panel * kernels::panelColumns(), present = rowsOf(panel);
    std::vector<kernels::CentredRow> rows(present);
    float* cells = m_cells.data() + first * m_stride;
    kernels::centreRows(tokenRows(m_view), placed.data(), &m_tokens[first], present, basis, m_words, cells,
                        m_stride, rows.data());
    kernels::CentredRow largest{};
    for (int i = 0; i < present; ++i) {
        m_steps[first + i] = rows[i].step;
        m_shifts[first + i] = rows[i].shift;
        m_slacks[first + i] = rows[i].slack;
        m_norms[first + i] = rows[i].norm;
        for (int l = 0; l < kernels::kDirections; ++l)
            m_places[l * m_steps.size() + first + i] = placed[m_tokens[first + i]].place[l];
        largest.reach = std::max(largest.reach, rows[i].reach);
        largest.error = std::max(largest.error, rows[i].error);
    }
    kernels::packPanel(cells, m_stride, present, m_depth, panel, m_panels.data());
    return largest;
}

kernels::Screen ScreenedRows::screen() const {
    return {m_cells.data(),  m_stride,        m_panels.data(), m_depth,         m_steps.data(),
            m_shifts.data(), m_slacks.data(), m_norms.data(),  m_places.data(), m_steps.size(),
            m_margin,        m_words,         m_count,         m_width};
}

void ScreenedRows::setBars(const kernels::Leads& leads, int panel) {
    kernels::setBars(screen(), leads, panel * kernels::panelColumns(), m_bars.data());
}

void ScreenedRows::setExtent(int panel) {
    m_extents[panel] =
        kernels::extentOf(screen(), m_bars.data(), panel * kernels::panelColumns(), rowsOf(panel));
}

void ScreenedRows::decideRows(const std::vector<int>& rows, const std::vector<float>& least,
                              std::vector<int>& nearest) const {
    kernels::decideRows(screen(), exactRows(), {rows.data(), least.data(), static_cast<int>(rows.size())},
                        nearest.data());
}

int ScreenedRows::nearer(int row, int one, int other) const {
    return kernels::decideBetween(exactRows(), row, one, other);
}

kernels::ExactRows ScreenedRows::exactRows() const {
    if (m_lengths.empty()) return {m_view.data, m_view.stride, m_width, nullptr, m_tokens.data()};
    return {m_unit.data(), m_unitStride, m_width, m_lengths.data(), m_tokens.data()};
}

void ScreenedRows::normaliseAll(Team& team) {
    m_unitStride = kernels::paddedStride(m_width);
    m_unit.reserve(m_count * m_unitStride);
    m_lengths.resize(m_count);
    team.each(m_count, [&](int token, int) {
        float* unit = m_unit.data() + token * m_unitStride;
        kernels::unitRow(m_view.row(token), m_width, unit);
        m_lengths[token] = std::sqrt(kernels::exactDot(unit, unit, m_width));
    });
}

namespace {

constexpr int kSampledRows = 32;
constexpr double kGolden = 0.6180339887;
constexpr float kScale = 1.41429988f;  // sqrt(2 (1 + 2 kTilt))

}  // namespace

/// Unit rows (of length 1) from the whole image, one row from each of kSampledRows parts. The row's index
/// within the part varies, because the rows would otherwise come from only a few columns of a grid.
struct Basis::Sample {
    Sample(const RowsView& rows, size_t stride) : stride(stride), data(kSampledRows * stride) {
        for (int n = 0; n < std::min(kSampledRows, rows.count); ++n) {
            float* to = row(count);
            const double at =
                (n + std::fmod(n * kGolden, 1.0)) * rows.count / std::min(kSampledRows, rows.count);
            if (!kernels::unitRow(rows.row(static_cast<int>(at)), rows.width, to)) continue;
            // Leaves out rows of zeros, which would move the origin away from all other rows.
            count += std::any_of(to, to + rows.width, [](float v) { return v != 0; });
        }
    }

    float* row(int i) { return data.data() + i * stride; }

    size_t stride;
    kernels::Buffer data;
    int count = 0;
};

Basis::Basis(const RowsView& rows) : m_width(rows.width), m_stride(kernels::paddedStride(rows.width)) {
    std::fill_n(m_data.reserve((1 + kernels::kDirections) * m_stride), (1 + kernels::kDirections) * m_stride,
                0.0f);
    Sample sample(rows, m_stride);
    if (sample.count == 0) return;
    centre(sample);
    turn(sample);
    if (!isTrue()) std::fill_n(direction(0), kernels::kDirections * m_stride, 0.0f);
}

kernels::ScreenBasis Basis::view() const {
    kernels::ScreenBasis basis{m_data.data(), direction(0), m_stride, {}};
    for (int l = 0; l < kernels::kDirections; ++l)
        basis.offsets[l] = static_cast<float>(kernels::exactDot(m_data.data(), direction(l), m_width));
    return basis;
}

/// Sets the origin to the mean of the sample, and subtracts the origin from the rows of the sample.
void Basis::centre(Sample& sample) {
    float* origin = m_data.data();
    for (int i = 0; i < sample.count; ++i)
        kernels::addScaledRow(1.0f / static_cast<float>(sample.count), sample.row(i), m_width, origin);
    for (int i = 0; i < sample.count; ++i)
        kernels::addScaledRow(-1, origin, m_width, sample.row(i));
}

/// Finds the directions one after another. A single step of the power method, from the row that is furthest
/// from all earlier directions, gives approximately the direction in which the sample is widest.
void Basis::turn(Sample& sample) {
    std::vector<float> squares(sample.count);
    for (int i = 0; i < sample.count; ++i)
        squares[i] = kernels::dotRows(sample.row(i), sample.row(i), m_width);
    const float enough = 1e-10f * *std::max_element(squares.begin(), squares.end());
    for (int l = 0; l < kernels::kDirections; ++l) {
        const auto furthest = std::max_element(squares.begin(), squares.end());
        if (!(*furthest > enough)) return;
        float* to = direction(l);
        const float* start = sample.row(static_cast<int>(furthest - squares.begin()));
        for (int i = 0; i < sample.count; ++i) {
            const float along = kernels::dotRows(sample.row(i), start, m_width) / *furthest;
            kernels::addScaledRow(along, sample.row(i), m_width, to);
        }
        // Subtracts the part along the earlier directions, which is not exactly 0 because of rounding.
        for (int before = 0; before < l; ++before) {
            const float along = kernels::dotRows(to, direction(before), m_width) / (kScale * kScale);
            kernels::addScaledRow(-along, direction(before), m_width, to);
        }
        const float length = std::sqrt(kernels::dotRows(to, to, m_width));
        std::transform(to, to + m_width, to, [&](float v) { return v * (kScale / length); });
        for (int i = 0; i < sample.count; ++i) {
            const float along = kernels::dotRows(sample.row(i), to, m_width) / (kScale * kScale);
            kernels::addScaledRow(-along, to, m_width, sample.row(i));
            squares[i] -= along * along * kScale * kScale;
        }
    }
}

/// Returns whether the directions have the lengths and right angles that the bound of the screen assumes:
/// for every a, a'B'Ba / 2 (see screen.hpp) differs from |a|^2 (1 + 2 kTilt) by at most kTilt |a|^2.
bool Basis::isTrue() const {
    double off = 0;
    for (int l = 0; l < kernels::kDirections; ++l) {
        for (int k = 0; k < kernels::kDirections; ++k) {
            const double product = kernels::exactDot(direction(l), direction(k), m_width) / 2;
            const double wanted = l == k && product > 0 ? 1 + 2 * kernels::kTilt : 0;
            off += (product - wanted) * (product - wanted);
        }
    }
    return std::sqrt(off) <= kernels::kTilt;
}

}  // namespace mpm
