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
    /// The most similar column of each row among those whose U is not below the row's `least`.
    void decideRows(const std::vector<int>& rows, const std::vector<float>& least,
                    std::vector<int>& nearest) const {
        kernels::decideRows(screen(), exactRows(), {rows.data(), least.data(), static_cast<int>(rows.size())},
                            nearest.data());
    }
    /// The more similar one of two columns.
    int nearer(int row, int one, int other) const {
        return kernels::decideBetween(exactRows(), row, one, other);
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
    kernels::ExactRows exactRows() const {
        if (m_lengths.empty()) return {m_rows.data, m_rows.stride, m_width, nullptr};
        return {m_unit.data(), m_unitStride, m_width, m_lengths.data()};
    }
    /// The rows of one panel; returns the largest reach and error.
    kernels::CentredRow centre(const kernels::ScreenBasis& basis, int panel) {
        const int columns = kernels::panelColumns(), first = panel * columns;
        const int present = std::min(columns, m_count - first);
        std::vector<kernels::CentredRow> rows(present);
        kernels::centreRows({m_rows.row(first), m_rows.stride, present, m_width, m_stride}, basis, m_words,
                            m_cells.data() + first * m_stride, rows.data());
        kernels::CentredRow largest{};
        for (int i = 0; i < present; ++i) {
            m_steps[first + i] = rows[i].step;
            m_shifts[first + i] = rows[i].shift;
            m_slacks[first + i] = rows[i].slack;
            for (int l = 0; l < kernels::kDirections; ++l)
                m_places[l * m_steps.size() + first + i] = rows[i].place[l];
            largest.reach = std::max(largest.reach, rows[i].reach);
            largest.error = std::max(largest.error, rows[i].error);
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

/// Rows of one image whose leads do not tell which column is the most similar one: none below `least` is.
struct Doubt {
    int image;
    std::vector<int> rows;
    std::vector<float> least;
};

/// Decides where two columns are left. Returns the rows with more, in parts of an image.
std::vector<Doubt> decideBetweenTwo(const std::vector<ScreenedRows>& images,
                                    std::vector<kernels::Leads>& leads) {
    constexpr int kRows = 64;
    std::vector<Doubt> parts;
    std::vector<int> firstRows;
    for (int i = 0; i < static_cast<int>(images.size()); ++i) {
        for (int first = 0; first < images[i].count(); first += kRows) {
            parts.push_back({i, {}, {}});
            firstRows.push_back(first);
        }
    }
    parallelFor(static_cast<int>(parts.size()), [&](int t) {
        const ScreenedRows& image = images[parts[t].image];
        kernels::Leads& own = leads[parts[t].image];
        int decided = 0;
        for (int row = firstRows[t]; row < std::min(firstRows[t] + kRows, image.count()); ++row) {
            const kernels::Leads::Row lead = own.row(row);
            if (lead.index < 0) continue;  // it has no other, or is not finite
            const double surely = image.surely(row, lead);
            if (surely > std::max(lead.second, lead.rest)) continue;
            ++decided;
            if (surely > lead.rest) {
                own.index[row] = image.nearer(row, lead.index, lead.secondIndex);
            } else {
                parts[t].rows.push_back(row);
                parts[t].least.push_back(roundDown(surely));
            }
        }
        g_decided += decided;
    });
    return parts;
}

/// Puts the rows of each image together and divides them into tasks.
std::vector<Doubt> tasksOf(const std::vector<Doubt>& parts) {
    const auto most = static_cast<size_t>(kernels::decidedTogether());
    std::vector<Doubt> tasks;
    for (const Doubt& part : parts) {
        for (size_t k = 0; k < part.rows.size(); ++k) {
            if (tasks.empty() || tasks.back().image != part.image || tasks.back().rows.size() == most)
                tasks.push_back({part.image, {}, {}});
            tasks.back().rows.push_back(part.rows[k]);
            tasks.back().least.push_back(part.least[k]);
        }
    }
    return tasks;
}

/// The leads of doubtful rows are replaced by what cosines in f64 say.
void decide(std::vector<ScreenedRows>& images, std::vector<kernels::Leads>& leads) {
    const std::vector<Doubt> parts = decideBetweenTwo(images, leads);
    std::vector<int> counts(images.size(), 0);
    for (const Doubt& part : parts)
        counts[part.image] += static_cast<int>(part.rows.size());
    for (size_t i = 0; i < images.size(); ++i) {
        if (counts[i] > images[i].count() / 8) images[i].normaliseAll();
        g_rows += images[i].count();
    }
    const std::vector<Doubt> tasks = tasksOf(parts);
    parallelFor(
        static_cast<int>(tasks.size()),
        [&](int t) {
            const Doubt& task = tasks[t];
            std::vector<int> nearest(task.rows.size());
            images[task.image].decideRows(task.rows, task.least, nearest);
            for (size_t k = 0; k < nearest.size(); ++k)
                leads[task.image].index[task.rows[k]] = nearest[k];
        },
        1);
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
    for (const kernels::Leads& image : leads)
        nearest.emplace_back(image.index, image.index + image.count());
    return nearest;
}

NearestCounts nearestCounts() {
    return {g_rows, g_decided};
}

}  // namespace mpm
