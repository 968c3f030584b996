#include "mpm_layer/merge/nearest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>

#include "base/loops.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/screened_rows.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

std::atomic<std::int64_t> g_rows{0}, g_decided{0};

/// Returns the number of rows of a task. Long tasks save time, because two tasks repeat work at their common
/// border. But tasks must be short enough to give work to all threads.
int rowsOfTask(int count) {
    const int groups = count / kernels::rowGroup() / (6 * std::max(1, cv::getNumThreads()));
    return std::clamp(groups, 4, 8) * kernels::rowGroup();
}

/// Calls screen(image, first, rows, leads) for all tasks, and merges the leads that the calls find.
template <class Screen>
void screenAll(const std::vector<ScreenedRows>& images, std::vector<kernels::Leads>& leads,
               const Screen& screen) {
    struct Task {
        int image, first, rows;
    };
    std::vector<Task> tasks;
    for (int image = 0; image < static_cast<int>(images.size()); ++image) {
        const int count = images[image].count(), rows = rowsOfTask(count);
        for (int first = 0; first < count; first += rows)
            tasks.push_back({image, first, std::min(rows, count - first)});
    }
    std::vector<std::mutex> guards(images.size());
    parallelFor(
        static_cast<int>(tasks.size()),
        [&](int t) {
            const auto [image, first, rows] = tasks[t];
            kernels::Leads own(images[image].count());
            screen(images[image], first, rows, own);
            const std::lock_guard<std::mutex> lock(guards[image]);
            leads[image].merge(own, first);
        },
        1);
}

/// Finds the lead of each row. Compares near rows first, because near rows tend to be the most similar. Then
/// compares the far rows that may be more similar than the lead.
std::vector<kernels::Leads> findLeads(std::vector<ScreenedRows>& images) {
    std::vector<kernels::Leads> leads;
    for (const ScreenedRows& image : images)
        leads.emplace_back(image.count());
    screenAll(images, leads, [](const ScreenedRows& image, int first, int rows, kernels::Leads& own) {
        kernels::screenNear(image.screen(), first, rows, own);
    });
    parallelParts(static_cast<int>(images.size()), [&](int i) {
        images[i].setBars(leads[i]);
        images[i].setExtents();
    });
    screenAll(images, leads, [](const ScreenedRows& image, int first, int rows, kernels::Leads& own) {
        kernels::screenFar(image.screen(), image.farBars(), first, rows, own);
    });
    return leads;
}

/// Rows of an image whose most similar column does not follow from the leads. Columns with U (screen.hpp)
/// below `least` are excluded.
struct Doubt {
    int image;
    std::vector<int> rows;
    std::vector<float> least;
};

/// Decides the rows for which the screen left only two columns. Returns the rows with more columns left. Each
/// returned Doubt is for a range of rows of an image.
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
            if (lead.index < 0) continue;  // the row is alone or not finite
            const float surely = image.bar(row);
            if (surely > std::max(lead.second, lead.rest)) continue;
            ++decided;
            if (surely > lead.rest) {
                own.index[row] = image.nearer(row, lead.index, lead.secondIndex);
            } else {
                parts[t].rows.push_back(row);
                parts[t].least.push_back(surely);
            }
        }
        g_decided += decided;
    });
    return parts;
}

/// Divides the rows of `parts` into tasks of at most decidedTogether() rows of an image.
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

/// Replaces the leads of doubtful rows with the results of exact cosines, in f64.
void decide(std::vector<ScreenedRows>& images, std::vector<kernels::Leads>& leads) {
    parallelParts(static_cast<int>(images.size()), [&](int i) { images[i].setBars(leads[i]); });
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

std::vector<std::vector<int>> nearestOfMany(const std::vector<RowsView>& images) {
    std::vector<std::optional<ScreenedRows>> placed(images.size());
    parallelParts(static_cast<int>(images.size()), [&](int i) { placed[i].emplace(images[i]); });
    std::vector<ScreenedRows> screened;
    screened.reserve(images.size());
    for (std::optional<ScreenedRows>& one : placed)
        screened.push_back(std::move(*one));
    std::vector<kernels::Leads> leads = findLeads(screened);
    decide(screened, leads);
    std::vector<std::vector<int>> nearest;
    for (size_t i = 0; i < screened.size(); ++i) {
        nearest.emplace_back(screened[i].count());
        for (int row = 0; row < screened[i].count(); ++row) {
            const int lead = leads[i].index[row];
            nearest[i][screened[i].token(row)] = lead < 0 ? -1 : screened[i].token(lead);
        }
    }
    return nearest;
}

// Whether it takes less time to compare all pairs than to use a screen, which avoids most products.
bool isSmall(const RowsView& image) {
    return image.count <= 384 && image.width <= 64;
}

/// Finds the row that is most similar to row `row`, in f64.
int nearestInF64(const UnitRows& rows, const std::vector<double>& lengths, int row) {
    int nearest = -1;
    double best = -std::numeric_limits<double>::infinity();
    for (int other = 0; other < rows.count(); ++other) {
        if (other == row) continue;
        const double cosine =
            kernels::cosineOf(rows.row(row), rows.row(other), rows.width(), lengths[row], lengths[other]);
        if (cosine > best) best = cosine, nearest = other;
    }
    return nearest;
}

/// Does the work of nearestNeighbours() for a small image: compares all pairs in f32, then decides close
/// results in f64.
std::vector<int> nearestOfFew(const RowsView& image) {
    const UnitRows rows(image);
    const int count = rows.count(), width = rows.width();
    const kernels::Buffer panels = packColumns(rows.rows(), rows.stride(), count, width);
    kernels::Leads leads(count);
    kernels::leadsAmong(rows.rows(), rows.stride(), {panels.data(), count, width}, leads);
    // The error of a product: each addition and multiplication rounds, and the lengths of both rows differ
    // from 1 by at most (width + 16) roundings.
    const float error = static_cast<float>(2.02 * width + 2.1 * (width + 16)) * 0x1p-24f;
    std::vector<double> lengths;
    std::vector<int> nearest(image.count, -1);
    for (int row = 0; row < count; ++row) {
        const kernels::Leads::Row lead = leads.row(row);
        int other = lead.index;
        if (other >= 0 && !(lead.value - std::max(lead.second, lead.rest) > 2 * error)) {
            for (int i = static_cast<int>(lengths.size()); i < count; ++i)
                lengths.push_back(std::sqrt(kernels::exactDot(rows.row(i), rows.row(i), width)));
            other = nearestInF64(rows, lengths, row);
            ++g_decided;
        }
        if (other >= 0) nearest[rows.original(row)] = rows.original(other);
    }
    g_rows += image.count;
    return nearest;
}

}  // namespace

std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images) {
    std::vector<RowsView> large;
    std::copy_if(images.begin(), images.end(), std::back_inserter(large), std::not_fn(isSmall));
    std::vector<std::vector<int>> nearest(images.size()), ofLarge = nearestOfMany(large);
    parallelParts(static_cast<int>(images.size()), [&](int i) {
        if (isSmall(images[i])) nearest[i] = nearestOfFew(images[i]);
    });
    auto next = ofLarge.begin();
    for (size_t i = 0; i < images.size(); ++i)
        if (!isSmall(images[i])) nearest[i] = std::move(*next++);
    return nearest;
}

NearestCounts nearestCounts() {
    return {g_rows, g_decided};
}

}  // namespace mpm
