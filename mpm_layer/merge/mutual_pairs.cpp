#include "mpm_layer/merge/mutual_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/nearest.hpp"
#include "mpm_layer/merge/registry.hpp"

namespace mpm {
namespace {

struct PairRule {
    Amount pairs;
    Metric by = Metric::Tokens;
    Mean mean = Mean::Plain;
    bool proportional = false;
    Moment moment = Moment::BeforeBlock;
};

// In f64, the cosine of two equal rows is exactly 1, so all pairs of equal rows are equally similar.
double cosine(const float* a, const float* b, int width) {
    const double ab = kernels::exactDot(a, b, width);
    const double aa = kernels::exactDot(a, a, width), bb = kernels::exactDot(b, b, width);
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

class MutualPairs : public Reducer {
public:
    explicit MutualPairs(const PairRule& rule) : m_rule(rule) {}

    bool isMutualPairs() const override {
        return m_rule.pairs.isAll() && m_rule.by == Metric::Tokens && m_rule.moment == Moment::BeforeBlock;
    }
    Moment moment() const override { return m_rule.moment; }
    Metric metric() const override { return m_rule.by; }
    Mean mean() const override { return m_rule.mean; }
    bool biasesBySize() const override { return m_rule.proportional; }

    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<RowsView> images(batch.size());
        std::transform(batch.begin(), batch.end(), images.begin(),
                       [](const StageContext& c) { return c.metric; });
        std::vector<std::vector<int>> nearest = nearestNeighbours(images);
        std::vector<MergeMap> maps(batch.size());
        for (size_t i = 0; i < batch.size(); ++i) {
            if (!m_rule.pairs.isAll()) keepBestPairs(images[i], m_rule.pairs, nearest[i]);
            maps[i] = pairUp(nearest[i]);
        }
        return maps;
    }

private:
    PairRule m_rule;
};

ReducerEntry entryOf(const char* name, const char* description, std::vector<Parameter> parameters,
                     PairRule (*ruleOf)(const Arguments&)) {
    return {name, description, std::move(parameters),
            [ruleOf](const Arguments& a) { return std::make_shared<MutualPairs>(ruleOf(a)); },
            // Counts a similarity for each unordered pair. If the reducer compares keys of this block, also
            // counts the product that computes the keys' mean over heads.
            [ruleOf](const Arguments& a, const MatchingSize& size) {
                const Metric by = ruleOf(a).by;
                const double n = size.tokens, width = by == Metric::Tokens ? size.width : size.keyWidth;
                const double keys = by == Metric::Keys ? 2 * n * size.width * size.keyWidth : 0;
                return n * (n - 1) * width + keys;
            }};
}

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

void keepBestPairs(const RowsView& rows, const Amount& amount, std::vector<int>& nearest) {
    std::vector<std::pair<double, int>> pairs;  // dissimilarity and lower index, so that the best come first
    for (int i = 0; i < static_cast<int>(nearest.size()); ++i) {
        const int j = nearest[i];
        if (j > i && nearest[j] == i) pairs.emplace_back(-cosine(rows.row(i), rows.row(j), rows.width), i);
    }
    std::sort(pairs.begin(), pairs.end());
    for (size_t p = amount.of(static_cast<int>(pairs.size())); p < pairs.size(); ++p)
        nearest[pairs[p].second] = -1;
}

// With the default values of all parameters, this reducer is the paper's method.
ReducerEntry mutualPairsEntry() {
    return entryOf("mpm", "mutual pairs: two tokens merge if each is the other's most similar one",
                   {Parameter::amount("pairs"), Parameter::word("by", {"tokens", "keys", "last-keys"}),
                    Parameter::word("mean", {"plain", "weighted", "scaled"}),
                    Parameter::word("attention", {"plain", "proportional"}),
                    Parameter::word("before", {"block", "mlp"})},
                   [](const Arguments& a) {
                       PairRule rule;
                       rule.pairs = a.amount("pairs");
                       if (a.is("before", "mlp")) rule.moment = Moment::AfterAttention;
                       // Before the MLP, attention has already run, so the last keys belong to this block.
                       const bool computed = a.is("by", "last-keys") || rule.moment == Moment::AfterAttention;
                       if (!a.is("by", "tokens")) rule.by = computed ? Metric::LastKeys : Metric::Keys;
                       if (!a.is("mean", "plain"))
                           rule.mean = a.is("mean", "scaled") ? Mean::Scaled : Mean::Weighted;
                       rule.proportional = a.is("attention", "proportional");
                       return rule;
                   });
}

// Returns every second block, from block 1 to three quarters of the depth.
std::vector<int> gentleBlocks(int blocks) {
    std::vector<int> chosen;
    for (int block = 1; 4 * block <= 3 * blocks && block < blocks; block += 2)
        chosen.push_back(block);
    return chosen;
}

ReducerEntry gentleEntry() {
    ReducerEntry entry =
        entryOf("gentle", "a few of the best mutual pairs at a time, for models trained without merging", {},
                [](const Arguments&) {
                    PairRule rule;
                    rule.pairs.share = 0.4;
                    rule.by = Metric::Keys;
                    rule.mean = Mean::Weighted;
                    rule.proportional = true;
                    return rule;
                });
    entry.usualBlocks = gentleBlocks;
    return entry;
}

}  // namespace mpm
