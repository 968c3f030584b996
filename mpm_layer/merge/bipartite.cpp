#include "mpm_layer/merge/bipartite.hpp"

#include <algorithm>
#include <numeric>

#include "base/loops.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

constexpr double kNoMatch = -2.0;

RowsView everyOther(const RowsView& rows, int first) {
    RowsView view = rows;
    view.data += static_cast<size_t>(first) * rows.stride;
    view.stride *= 2;
    view.count = std::max(0, (rows.count - first + 1) / 2);
    return view;
}

}  // namespace

Matching matchAlternating(const RowsView& metric, int special) {
    const int firstSource = special % 2, firstTarget = 1 - firstSource;
    Matching matching;
    for (int i = firstSource; i < metric.count; i += 2)
        matching.sources.push_back(i);
    for (int i = firstTarget; i < metric.count; i += 2)
        matching.targets.push_back(i);
    matching.similarity.assign(matching.sources.size(), kNoMatch);
    matching.target.assign(matching.sources.size(), -1);
    if (matching.sources.empty() || matching.targets.empty()) return matching;

    const UnitRows sources(everyOther(metric, firstSource)), targets(everyOther(metric, firstTarget));
    if (targets.count() == 0) return matching;
    const kernels::Buffer panels =
        packColumns(targets.rows(), targets.stride(), targets.count(), targets.width());
    const kernels::SimilarColumns columns{panels.data(), targets.count(), targets.width()};
    kernels::Best best(sources.count());
    const int chunk = similarityChunk(), chunks = (sources.count() + chunk - 1) / chunk;
    parallelFor(chunks, [&](int c) {
        kernels::nearestColumns(sources.rows(), sources.stride(), c * chunk,
                                std::min(chunk, sources.count() - c * chunk), columns, best);
    });
    for (int i = 0; i < sources.count(); ++i) {
        matching.similarity[sources.original(i)] = best.value[i];
        matching.target[sources.original(i)] = targets.original(best.index[i]);
    }
    return matching;
}

std::vector<int> Matching::ranking() const {
    std::vector<int> order(sources.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return similarity[a] > similarity[b]; });
    return order;
}

MergeMap Matching::join(int edges) const {
    const std::vector<int> order = ranking();
    std::vector<char> joins(sources.size(), 0);
    for (int i = 0; i < edges && i < static_cast<int>(order.size()); ++i)
        joins[order[i]] = target[order[i]] >= 0;
    MergeMap map;
    map.ids.resize(sources.size() + targets.size());
    for (size_t s = 0; s < sources.size(); ++s) {
        if (!joins[s]) map.ids[sources[s]] = map.clusters++;
    }
    for (int token : targets)
        map.ids[token] = map.clusters++;
    for (size_t s = 0; s < sources.size(); ++s) {
        if (joins[s]) map.ids[sources[s]] = map.ids[targets[target[s]]];
    }
    return map;
}

}  // namespace mpm
