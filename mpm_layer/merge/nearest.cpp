#include "mpm_layer/merge/nearest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/basis.hpp"

namespace mpm {
namespace {

std::atomic<std::int64_t> g_rows{0}, g_decided{0};

/// The unit rows of one image, and their cells for the screen (kernels/tokens/screen.hpp). A row that is not
/// finite is less similar to any other than all that are.
class ScreenedRows {
public:
    explicit ScreenedRows(const RowsView& rows)
        : m_rows(rows),
          m_count(rows.count),
          m_width(rows.width),
          m_words(kernels::screensWords(m_width)),
          m_depth(kernels::screenCells(m_width, m_words)),
          m_stride(kernels::paddedStride(m_depth)) {
        const int columns = kernels::panelColumns(), panels = (m_count + columns - 1) / columns;
        m_cells.reserve(kernels::paddedSize(m_count, m_stride));
        m_panels.reserve(kernels::panelsSize(m_count, m_depth));
        m_steps.resize(static_cast<size_t>(panels) * columns);
        m_shifts.resize(m_steps.size());
        m_slacks.resize(m_steps.size());
        m_places.resize(kernels::kDirections * m_steps.size());
        const Basis basis(rows);
        std::vector<kernels::CentredRow> largest(panels);
        // A panel's rows are packed while they are near.
        const kernels::ScreenBasis view = basis.view();
        parallelFor(panels, [&](int panel) { largest[panel] = centre(view, panel); });
        float reach = 0, error = 0;
        for (const kernels::CentredRow& one : largest) {
            reach = std::max(reach, one.reach);
            error = std::max(error, one.error);
        }
        m_margin = kernels::screenMargin(reach, error, m_width, m_words);
    }

    int count() const { return m_count; }
    kernels::Screen screen() const {
        return {m_cells.data(),  m_stride,       m_panels.data(), m_depth, m_steps.data(), m_shifts.data(),
                m_places.data(), m_steps.size(), m_margin,        m_words, m_count};
    }
    kernels::DoubtfulRows doubtful(const std::vector<int>& rows, const std::vector<float>& least) const {
        const auto count = static_cast<int>(rows.size());
        if (m_lengths.empty())
            return {m_rows.data, m_rows.stride, m_width, nullptr, rows.data(), least.data(), count};
        return {m_unit.data(), m_unitStride, m_width, m_lengths.data(), rows.data(), least.data(), count};
    }
    /// Pays where many rows are doubtful.
    void normaliseAll() {
        m_unitStride = kernels::paddedStride(m_width);
        m_unit.reserve(m_count * m_unitStride);
        m_lengths.resize(m_count);
        parallelFor(m_count, [&](int i) {
            float* unit = m_unit.data() + i * m_unitStride;
            kernels::unitRow(m_rows.row(i), m_width, unit);
            m_lengths[i] = std::sqrt(kernels::exactDot(unit, unit, m_width));
        });
    }

    /// U of a row's lead, less all errors: columns whose U is below are less similar.
    double surely(int row, const kernels::Leads::Row& lead) const {
        const int other = lead.index;
        double away = 0;
        for (size_t at = 0; at < m_places.size(); at += m_steps.size())
            away += std::pow(static_cast<double>(m_places[at + row]) - m_places[at + other], 2);
        const double above = 2.0 * m_margin * m_steps[row] * m_steps[other] +
                             3.0 * (m_slacks[row] + m_slacks[other]) + 5 * kernels::kTilt * away;
        // Of cosines in f64, and of unit rows that are not quite as long.
        const double unit = (m_width + 16) * 0x1p-24, exact = unit * 0x1p-25 + unit * unit;
        return lead.value - 1.01 * above - exact;
    }

private:
    /// The rows of one panel; returns the largest reach and error.
    kernels::CentredRow centre(const kernels::ScreenBasis& basis, int panel) {
        const int columns = kernels::panelColumns(), first = panel * columns;
        const int present = std::min(columns, m_count - first);
        kernels::CentredRow largest{};
        for (int i = first; i < first + present; ++i) {
            float* cells = m_cells.data() + i * m_stride;
            kernels::CentredRow row{};
            if (!kernels::centreRow(m_rows.row(i), basis, m_width, m_words, cells, row)) {
                std::fill_n(cells, m_depth, 0.0f);
                m_shifts[i] = -std::numeric_limits<float>::infinity();
                continue;
            }
            m_steps[i] = row.step;
            m_shifts[i] = row.shift;
            m_slacks[i] = row.slack;
            for (int l = 0; l < kernels::kDirections; ++l)
                m_places[l * m_steps.size() + i] = row.place[l];
            largest.reach = std::max(largest.reach, row.reach);
            largest.error = std::max(largest.error, row.error);
        }
        kernels::packPanel(m_cells.data() + first * m_stride, m_stride, present, m_depth, panel,
                           m_panels.data());
        return largest;
    }

    RowsView m_rows;
    int m_count, m_width;
    bool m_words;
    int m_depth;
    size_t m_stride, m_unitStride = 0;
    kernels::Buffer m_cells, m_panels;
    kernels::Buffer m_unit;                                    // only where it pays
    std::vector<double> m_lengths;                             // theirs
    std::vector<float> m_steps, m_shifts, m_slacks, m_places;  // of whole panels
    float m_margin = 0;
};

float roundDown(double value) {
    const float rounded = static_cast<float>(value);
    return rounded <= value ? rounded : std::nextafter(rounded, -std::numeric_limits<float>::infinity());
}

/// Rows of one task: the more, the less is done twice where tasks meet; few enough to share the work out.
int rowsOfTask(int count) {
    const int groups = count / kernels::rowGroup() / (6 * std::max(1, cv::getNumThreads()));
    return std::clamp(groups, 4, 8) * kernels::rowGroup();
}

std::vector<kernels::Leads> screenAll(const std::vector<ScreenedRows>& images) {
    struct Task {
        int image, first, rows;
    };
    std::vector<Task> tasks;
    std::vector<kernels::Leads> leads;
    for (const ScreenedRows& image : images) {
        leads.emplace_back(image.count());
        const int rows = rowsOfTask(image.count());
        for (int first = 0; first < image.count(); first += rows)
            tasks.push_back(
                {static_cast<int>(leads.size()) - 1, first, std::min(rows, image.count() - first)});
    }
    std::vector<std::mutex> guards(images.size());
    parallelFor(
        static_cast<int>(tasks.size()),
        [&](int t) {
            const auto [image, first, rows] = tasks[t];
            kernels::Leads own(images[image].count());
            kernels::screenChunk(images[image].screen(), first, rows, own);
            const std::lock_guard<std::mutex> lock(guards[image]);
            leads[image].merge(own, first);
        },
        1);
    return leads;
}

/// Doubtful rows of one image.
struct Doubt {
    int image;
    std::vector<int> rows;
    std::vector<float> least;
    bool betweenTwo;  ///< only the first two columns can be the most similar one
};

/// Those of all images, in tasks.
std::vector<Doubt> findDoubts(std::vector<ScreenedRows>& images, const std::vector<kernels::Leads>& leads) {
    std::vector<Doubt> doubts;
    for (int i = 0; i < static_cast<int>(images.size()); ++i) {
        Doubt own[] = {{i, {}, {}, false}, {i, {}, {}, true}};
        int count = 0;
        for (int row = 0; row < images[i].count(); ++row) {
            const kernels::Leads::Row& lead = leads[i].rows[row];
            if (lead.index < 0) continue;  // it has no other, or is not finite
            const double surely = images[i].surely(row, lead);
            if (surely > lead.second && surely > lead.rest) continue;
            Doubt& doubt = own[surely > lead.rest];
            doubt.rows.push_back(row);
            doubt.least.push_back(roundDown(surely));
            ++count;
            if (static_cast<int>(doubt.rows.size()) < kernels::rowGroup()) continue;
            doubts.push_back(doubt);
            doubt.rows.clear(), doubt.least.clear();
        }
        for (const Doubt& rest : own) {
            if (!rest.rows.empty()) doubts.push_back(rest);
        }
        if (count > images[i].count() / 8) images[i].normaliseAll();
        g_decided += count;
        g_rows += images[i].count();
    }
    return doubts;
}

/// The leads of doubtful rows are replaced by what cosines in f64 say.
void decide(std::vector<ScreenedRows>& images, std::vector<kernels::Leads>& leads) {
    const std::vector<Doubt> doubts = findDoubts(images, leads);
    parallelFor(static_cast<int>(doubts.size()), [&](int t) {
        const Doubt& doubt = doubts[t];
        std::vector<kernels::Leads::Row>& own = leads[doubt.image].rows;
        const kernels::DoubtfulRows rows = images[doubt.image].doubtful(doubt.rows, doubt.least);
        std::vector<int> nearest(doubt.rows.size());
        if (!doubt.betweenTwo) kernels::decideRows(images[doubt.image].screen(), rows, nearest.data());
        for (size_t k = 0; k < nearest.size(); ++k) {
            kernels::Leads::Row& lead = own[doubt.rows[k]];
            lead.index = doubt.betweenTwo
                             ? kernels::decideBetween(rows, doubt.rows[k], lead.index, lead.secondIndex)
                             : nearest[k];
        }
    });
}

}  // namespace

std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images) {
    std::vector<ScreenedRows> screened;
    screened.reserve(images.size());
    for (const RowsView& image : images)
        screened.emplace_back(image);
    std::vector<kernels::Leads> leads = screenAll(screened);
    decide(screened, leads);
    std::vector<std::vector<int>> nearest;
    for (const kernels::Leads& image : leads) {
        nearest.emplace_back();
        for (const kernels::Leads::Row& row : image.rows)
            nearest.back().push_back(row.index);
    }
    return nearest;
}

NearestCounts nearestCounts() {
    return {g_rows, g_decided};
}

}  // namespace mpm
