#include "mpm_layer/merge/mutual_pairs.hpp"

#include <algorithm>

#include "mpm_layer/merge/nearest.hpp"
#include "mpm_layer/merge/registry.hpp"

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

}  // namespace

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
