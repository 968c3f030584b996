#include "mpm_layer/merge/nearest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

std::atomic<std::int64_t> g_rows{0}, g_decided{0};

/// Near the mean of an image's unit rows: that of some of them. The nearer it is, the less remains of each.
std::vector<float> meanOf(const RowsView& rows) {
    constexpr int kSample = 64;
    std::vector<float> mean(rows.width), unit(rows.width);
    const int step = std::max(1, rows.count / kSample);
    int counted = 0;
    for (int i = 0; i < rows.count; i += step) {
        if (!kernels::unitRow(rows.row(i), rows.width, unit.data())) continue;
        if (std::all_of(unit.begin(), unit.end(), [](float v) { return v == 0; })) continue;
        ++counted;
        std::transform(mean.begin(), mean.end(), unit.begin(), mean.begin(), std::plus<>());
    }
    for (float& v : mean)
        v /= static_cast<float>(std::max(counted, 1));
    return mean;
}

/// The unit rows of one image, and their cells for the screen (kernels/tokens/screen.hpp). A row that is not
/// finite is less similar to any other than all that are.
class ScreenedRows {
public:
    explicit ScreenedRows(const RowsView& rows)
        : m_count(rows.count),
          m_width(rows.width),
          m_words(kernels::screensWords(m_width)),
          m_depth(kernels::screenCells(m_width, m_words)),
          m_unitStride(kernels::paddedStride(m_width)),
          m_stride(kernels::paddedStride(m_depth)) {
        const int columns = kernels::panelColumns(), panels = (m_count + columns - 1) / columns;
        m_unit.reserve(kernels::paddedSize(m_count, m_unitStride));
        m_cells.reserve(kernels::paddedSize(m_count, m_stride));
        m_panels.reserve(kernels::panelsSize(m_count, m_depth));
        m_steps.resize(static_cast<size_t>(panels) * columns);
        m_shifts.resize(m_steps.size());
        const std::vector<float> mean = meanOf(rows);
        std::vector<kernels::CentredRow> largest(panels);
        // A panel's rows are packed while they are near.
        parallelFor(panels, [&](int panel) { largest[panel] = centre(rows, mean, panel); });
        float reach = 0, error = 0;
        for (const kernels::CentredRow& one : largest) {
            reach = std::max(reach, one.reach);
            error = std::max(error, one.error);
        }
        m_margin = kernels::screenMargin(reach, error, m_width, m_words);
    }

    int count() const { return m_count; }
    kernels::Screen screen() const {
        return {m_cells.data(),  m_stride, m_panels.data(), m_depth, m_steps.data(),
                m_shifts.data(), m_margin, m_words,         m_count};
    }
    kernels::DoubtfulRows doubtful(const std::vector<int>& rows, const std::vector<float>& least) const {
        return {m_unit.data(), m_unitStride, m_width,
                rows.data(),   least.data(), static_cast<int>(rows.size())};
    }

    /// U of a row's lead, less all errors: columns whose U is below are less similar.
    double surely(int row, const kernels::Leads& leads) const {
        const int other = leads.index[row];
        const double twice = 2.0 * m_margin * m_steps[row] * m_steps[other];
        const double slack = 4 * kernels::kShiftSlack * (std::abs(m_shifts[row]) + std::abs(m_shifts[other]));
        // Of the products in f64 that decide, and of those that the shifts are made of.
        const double exact = (m_width + 16) * 0x1p-49;
        return leads.value[row] - 1.01 * (twice + slack) - exact;
    }

private:
    /// The rows of one panel; returns the largest reach and error.
    kernels::CentredRow centre(const RowsView& rows, const std::vector<float>& mean, int panel) {
        const int columns = kernels::panelColumns(), first = panel * columns;
        const int present = std::min(columns, m_count - first);
        const double meanSquare = kernels::exactDot(mean.data(), mean.data(), m_width);
        kernels::CentredRow largest{};
        for (int i = first; i < first + present; ++i) {
            float *unit = m_unit.data() + i * m_unitStride, *cells = m_cells.data() + i * m_stride;
            if (!kernels::unitRow(rows.row(i), m_width, unit)) {
                std::fill_n(cells, m_depth, 0.0f);
                m_shifts[i] = -std::numeric_limits<float>::infinity();
                continue;
            }
            const kernels::CentredRow row =
                kernels::centreRow(unit, mean.data(), meanSquare, m_width, m_words, cells);
            m_steps[i] = row.step;
            m_shifts[i] = row.shift;
            largest.reach = std::max(largest.reach, row.reach);
            largest.error = std::max(largest.error, row.error);
        }
        kernels::packPanel(m_cells.data() + first * m_stride, m_stride, present, m_depth, panel,
                           m_panels.data());
        return largest;
    }

    int m_count, m_width;
    bool m_words;
    int m_depth;
    size_t m_unitStride, m_stride;
    kernels::Buffer m_unit, m_cells, m_panels;
    std::vector<float> m_steps, m_shifts;  // of whole panels
    float m_margin = 0;
};

float roundDown(double value) {
    const float rounded = static_cast<float>(value);
    return rounded <= value ? rounded : std::nextafter(rounded, -std::numeric_limits<float>::infinity());
}

std::vector<kernels::Leads> screenAll(const std::vector<ScreenedRows>& images) {
    struct Task {
        int image, first;
    };
    std::vector<Task> tasks;
    std::vector<kernels::Leads> leads;
    const int chunk = similarityChunk();
    for (const ScreenedRows& image : images) {
        leads.emplace_back(image.count());
        for (int first = 0; first < image.count(); first += chunk)
            tasks.push_back({static_cast<int>(leads.size()) - 1, first});
    }
    std::vector<std::mutex> guards(images.size());
    parallelFor(
        static_cast<int>(tasks.size()),
        [&](int t) {
            const auto [image, first] = tasks[t];
            const int count = images[image].count();
            kernels::Leads own(count);
            kernels::screenChunk(images[image].screen(), first, std::min(chunk, count - first), own);
            const std::lock_guard<std::mutex> lock(guards[image]);
            leads[image].merge(own, first);
        },
        1);
    return leads;
}

/// Doubtful rows, image by image: their leads are replaced by what products in f64 say.
void decide(const std::vector<ScreenedRows>& images, std::vector<kernels::Leads>& leads) {
    struct Task {
        int image;
        std::vector<int> rows;
        std::vector<float> least;
    };
    std::vector<Task> tasks;
    for (int i = 0; i < static_cast<int>(images.size()); ++i) {
        Task* task = nullptr;
        for (int row = 0; row < images[i].count(); ++row) {
            if (leads[i].index[row] < 0) continue;  // it has no other, or is not finite
            const double surely = images[i].surely(row, leads[i]);
            if (surely > leads[i].second[row]) continue;
            if (!task || static_cast<int>(task->rows.size()) == kernels::rowGroup())
                task = &tasks.emplace_back(Task{i, {}, {}});
            task->rows.push_back(row);
            task->least.push_back(roundDown(surely));
            ++g_decided;
        }
        g_rows += images[i].count();
    }
    parallelFor(static_cast<int>(tasks.size()), [&](int t) {
        const Task& task = tasks[t];
        std::vector<int> nearest(task.rows.size());
        kernels::decideRows(images[task.image].screen(), images[task.image].doubtful(task.rows, task.least),
                            nearest.data());
        for (size_t k = 0; k < nearest.size(); ++k)
            leads[task.image].index[task.rows[k]] = nearest[k];
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
    for (kernels::Leads& image : leads)
        nearest.push_back(std::move(image.index));
    return nearest;
}

NearestCounts nearestCounts() {
    return {g_rows, g_decided};
}

}  // namespace mpm
