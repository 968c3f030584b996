#include "mpm_layer/merge/mutual_pairs.hpp"

#include <algorithm>
#include <mutex>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/merge/registry.hpp"
#include "mpm_layer/merge/similarity.hpp"

namespace mpm {
namespace {

class MutualPairs : public Reducer {
public:
    MutualPairs(bool weighted, bool proportional) : m_weighted(weighted), m_proportional(proportional) {}

    bool isMutualPairs() const override { return true; }
    bool weighsBySize() const override { return m_weighted; }
    bool biasesBySize() const override { return m_proportional; }

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<RowsView> images(batch.size());
        std::transform(batch.begin(), batch.end(), images.begin(),
                       [](const StageContext& c) { return c.tokens; });
        const std::vector<std::vector<int>> nearest = nearestNeighbours(images);
        std::vector<MergeMap> maps(batch.size());
        std::transform(nearest.begin(), nearest.end(), maps.begin(), pairUp);
        return maps;
    }

private:
    bool m_weighted, m_proportional;
};

int chunksOf(const UnitRows& rows) {
    return (rows.count() + similarityChunk() - 1) / similarityChunk();
}

std::vector<int> inViewOrder(const UnitRows& rows, const kernels::Best& best, int tokens) {
    std::vector<int> nearest(tokens, -1);
    if (rows.count() < 2) return nearest;
    for (int i = 0; i < rows.count(); ++i)
        nearest[rows.original(i)] = rows.original(best.index[i]);
    return nearest;
}

}  // namespace

std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images) {
    struct Task {
        size_t image;
        int first;
    };
    std::vector<UnitRows> rows;
    rows.reserve(images.size());
    std::vector<kernels::Best> bests;
    std::vector<Task> tasks;
    for (const RowsView& image : images) {
        rows.emplace_back(image);
        bests.emplace_back(rows.back().count());
        for (int c = 0; c < chunksOf(rows.back()); ++c)
            tasks.push_back({rows.size() - 1, c * similarityChunk()});
    }
    std::vector<std::mutex> guards(images.size());
    const int count = static_cast<int>(tasks.size());
    parallelFor(
        count,
        [&](int t) {
            const UnitRows& image = rows[tasks[t].image];
            kernels::Best own(image.count());
            kernels::nearestChunk(image.operands(), tasks[t].first,
                                  std::min(similarityChunk(), image.count() - tasks[t].first), own);
            const std::lock_guard<std::mutex> lock(guards[tasks[t].image]);
            bests[tasks[t].image].merge(own);
        },
        1);
    std::vector<std::vector<int>> nearest;
    for (size_t i = 0; i < images.size(); ++i)
        nearest.push_back(inViewOrder(rows[i], bests[i], images[i].count));
    return nearest;
}

MergeMap pairUp(const std::vector<int>& nearest) {
    MergeMap map;
    map.ids.resize(nearest.size());
    for (int i = 0; i < map.tokens(); ++i) {
        const int partner = nearest[i];
        const bool absorbed = partner >= 0 && partner < i && nearest[partner] == i;
        map.ids[i] = absorbed ? map.ids[partner] : map.clusters++;
    }
    return map;
}

// Size-weighted means and proportional attention are beyond the method, never its default.
ReducerEntry mutualPairsEntry() {
    return {"mpm",
            "mutual pairs: two tokens merge where each is the other's most similar one",
            {Parameter::word("mean", {"plain", "weighted"}),
             Parameter::word("attention", {"plain", "proportional"})},
            [](const Arguments& a) {
                return std::make_shared<MutualPairs>(a.is("mean", "weighted"),
                                                     a.is("attention", "proportional"));
            },
            // One similarity for each unordered pair.
            [](const Arguments&, const MatchingSize& size) {
                const double n = size.tokens;
                return n * (n - 1) * size.width;
            }};
}

}  // namespace mpm
