#include "mpm_layer/merge/nearest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
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
/// border. But tasks should be short enough to give work to all threads.
int rowsOfTask(int count, const Team& team) {
    const int groups = count / kernels::rowGroup() / (6 * team.size());
    return std::clamp(groups, 4, 8) * kernels::rowGroup();
}

/// Calls screen(first, rows, leads) for all rows, in parts, and merges the leads that the calls find.
template <class Screen>
void screenAll(int count, Team& team, kernels::Leads& leads, const Screen& screen) {
    const int rows = rowsOfTask(count, team);
    std::vector<std::optional<kernels::Leads>> found(team.size());
    team.each((count + rows - 1) / rows, [&](int task, int member) {
        if (!found[member]) found[member].emplace(count);
        screen(task * rows, std::min(rows, count - task * rows), *found[member]);
    });
    for (const std::optional<kernels::Leads>& own : found)
        if (own) leads.merge(*own, 0);
}

/// Finds the lead of each row. Compares near rows first, because near rows tend to be the most similar. Then
/// compares the far rows that may be more similar than the lead.
kernels::Leads findLeads(ScreenedRows& rows, Team& team) {
    kernels::Leads leads(rows.count());
    screenAll(rows.count(), team, leads, [&](int first, int count, kernels::Leads& own) {
        kernels::screenNear(rows.screen(), first, count, own);
    });
    team.each(rows.panelCount(), [&](int panel, int) {
        rows.setBars(leads, panel);
        rows.setExtent(panel);
    });
    screenAll(rows.count(), team, leads, [&](int first, int count, kernels::Leads& own) {
        kernels::screenFar(rows.screen(), rows.farBars(), first, count, own);
    });
    return leads;
}

/// Rows whose most similar column does not follow from the leads. Columns with U (screen.hpp) below `least`
/// are excluded.
struct Doubt {
    std::vector<int> rows;
    std::vector<float> least;
};

/// Decides the rows for which the screen left only two columns. Returns, for each panel, the rows for which
/// more columns are left.
std::vector<Doubt> decideBetweenTwo(ScreenedRows& rows, Team& team, kernels::Leads& leads) {
    std::vector<Doubt> doubts(rows.panelCount());
    team.each(rows.panelCount(), [&](int panel, int) {
        rows.setBars(leads, panel);
        const int columns = kernels::panelColumns(), end = std::min((panel + 1) * columns, rows.count());
        int decided = 0;
        for (int row = panel * columns; row < end; ++row) {
            const kernels::Leads::Row lead = leads.row(row);
            if (lead.index < 0) continue;  // the row is alone or not finite
            const float bar = rows.bar(row);
            if (bar > std::max(lead.second, lead.rest)) continue;
            ++decided;
            if (bar > lead.rest) {
                leads.index[row] = rows.nearer(row, lead.index, lead.secondIndex);
            } else {
                doubts[panel].rows.push_back(row);
                doubts[panel].least.push_back(bar);
            }
        }
        if (decided > 0) g_decided += decided;
    });
    return doubts;
}

/// Divides the rows of `doubts` into tasks of at most decidedTogether() rows.
std::vector<Doubt> tasksOf(const std::vector<Doubt>& doubts) {
    const auto most = static_cast<size_t>(kernels::decidedTogether());
    std::vector<Doubt> tasks;
    for (const Doubt& doubt : doubts) {
        for (size_t k = 0; k < doubt.rows.size(); ++k) {
            if (tasks.empty() || tasks.back().rows.size() == most) tasks.emplace_back();
            tasks.back().rows.push_back(doubt.rows[k]);
            tasks.back().least.push_back(doubt.least[k]);
        }
    }
    return tasks;
}

/// Replaces the leads of doubtful rows with the results of exact cosines, in f64.
void decide(ScreenedRows& rows, Team& team, kernels::Leads& leads) {
    const std::vector<Doubt> doubts = decideBetweenTwo(rows, team, leads);
    const int count = std::accumulate(doubts.begin(), doubts.end(), 0, [](int sum, const Doubt& doubt) {
        return sum + static_cast<int>(doubt.rows.size());
    });
    if (count > rows.count() / 8) rows.normaliseAll(team);
    const std::vector<Doubt> tasks = tasksOf(doubts);
    team.each(static_cast<int>(tasks.size()), [&](int t, int) {
        const Doubt& task = tasks[t];
        std::vector<int> nearest(task.rows.size());
        rows.decideRows(task.rows, task.least, nearest);
        for (size_t k = 0; k < nearest.size(); ++k)
            leads.index[task.rows[k]] = nearest[k];
    });
}

std::vector<int> nearestOfMany(const RowsView& image, Team& team) {
    ScreenedRows rows(image, team);
    kernels::Leads leads = findLeads(rows, team);
    decide(rows, team, leads);
    g_rows += rows.count();
    std::vector<int> nearest(rows.count());
    for (int row = 0; row < rows.count(); ++row) {
        const int lead = leads.index[row];
        nearest[rows.token(row)] = lead < 0 ? -1 : rows.token(lead);
    }
    return nearest;
}

// Returns whether comparing all pairs takes less time than using a screen, which avoids most products.
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
    // A bound on the error of a product: each addition and multiplication rounds, and the lengths of both
    // rows differ from 1 by at most (width + 16) roundings.
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
    // A team saves time only if each of its threads has at least this number of tokens.
    constexpr int kTokensOfThread = 128;
    std::vector<std::vector<int>> nearest(images.size());
    const auto search = [&](int i) {
        const RowsView& image = images[i];
        if (isSmall(image)) {
            nearest[i] = nearestOfFew(image);
            return;
        }
        Team::run(image.count / kTokensOfThread,
                  [&](Team& team) { nearest[i] = nearestOfMany(image, team); });
    };
    int tokens = 0;
    for (const RowsView& image : images)
        tokens = std::max(tokens, image.count);
    const int count = static_cast<int>(images.size()), threads = std::max(1, cv::getNumThreads());
    const int team = std::clamp(tokens / kTokensOfThread, 1, threads);
    // Uses one thread for each image if a team of threads for one image at a time would not be faster.
    if ((count + threads - 1) / threads * team <= count) {
        parallelFor(count, search, 1);
        return nearest;
    }
    for (int i = 0; i < count; ++i)
        search(i);
    return nearest;
}

NearestCounts nearestCounts() {
    return {g_rows, g_decided};
}

}  // namespace mpm
