// Token Merging (ToMe): every block merges the r most similar pairs of a bipartite matching of the keys.

#include <algorithm>
#include <numeric>

#include "mpm_layer/merge/bipartite.hpp"
#include "mpm_layer/merge/registry.hpp"

namespace mpm {
namespace {

class Tome : public Reducer {
public:
    Tome(int edges, bool falling, bool proportional)
        : m_edges(edges), m_falling(falling), m_proportional(proportional) {}

    Moment moment() const override { return Moment::AfterAttention; }
    Metric metric() const override { return Metric::Keys; }
    Mean mean() const override { return Mean::Weighted; }
    bool biasesBySize() const override { return m_proportional; }

    std::vector<int> ownSchedule(int blocks) const override {
        std::vector<int> all(blocks);
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<MergeMap> maps;
        for (const StageContext& image : batch) {
            // At most half of the image tokens can join others.
            const int edges = std::min(edgesAt(image.stage, image.blocks), image.tokens.count / 2);
            maps.push_back(matchAlternating(image.metric, image.special).join(edges));
        }
        return maps;
    }

private:
    // Returns the number of pairs: m_edges in every block. If m_falling, the number falls from 2 m_edges in
    // the first block to 0 in the last block.
    int edgesAt(int stage, int blocks) const {
        if (!m_falling || blocks < 2) return m_edges;
        return static_cast<int>(2.0 * m_edges - 2.0 * m_edges / (blocks - 1) * stage);
    }

    int m_edges;
    bool m_falling, m_proportional;
};

}  // namespace

ReducerEntry tomeEntry() {
    return {"tome",
            "Token Merging: the r most similar pairs of even and odd tokens, in every block",
            {Parameter::integer("r", 13, 0, 100000), Parameter::word("schedule", {"constant", "falling"}),
             Parameter::word("attention", {"proportional", "plain"})},
            [](const Arguments& a) {
                return std::make_shared<Tome>(a.integer("r"), a.is("schedule", "falling"),
                                              a.is("attention", "proportional"));
            },
            // Compares every even token with every odd token, by the mean of a token's keys over heads.
            [](const Arguments&, const MatchingSize& size) {
                const double half = size.tokens / 2;
                return 2 * half * half * size.keyWidth;
            }};
}

}  // namespace mpm
