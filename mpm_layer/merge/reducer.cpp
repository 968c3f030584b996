#include "mpm_layer/merge/reducer.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "mpm_layer/merge/algm.hpp"
#include "mpm_layer/merge/local_pairs.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"
#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/pooling.hpp"
#include "mpm_layer/merge/tome.hpp"

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

// Size-weighted means and proportional attention are beyond the method, never its default.
std::shared_ptr<const Reducer> makeMutualPairs(Parameters& parameters) {
    const bool weighted = parameters.word("mean", "plain", {"plain", "weighted"}) == "weighted";
    const bool proportional =
        parameters.word("attention", "plain", {"plain", "proportional"}) == "proportional";
    parameters.finish();
    return std::make_shared<MutualPairs>(weighted, proportional);
}

}  // namespace

std::shared_ptr<const Reducer> makeReducer(const std::string& method) {
    Parameters parameters(method);
    const std::string& name = parameters.name();
    if (name == "mpm") return makeMutualPairs(parameters);
    if (name == "tome") return makeTome(parameters);
    if (name == "algm") return makeAlgm(parameters);
    if (name == "local") return makeLocalPairs(parameters);
    if (name == "random") return makeRandomPairs(parameters);
    if (name == "grid") return makeGridPooling(parameters);
    CV_Error(cv::Error::StsBadArg,
             "mpm: method '" + printable(name, 80) +
                 "' is not known; expected none, mpm, tome, algm, local, random or grid");
}

}  // namespace mpm
