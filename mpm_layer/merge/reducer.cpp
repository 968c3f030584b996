#include "mpm_layer/merge/reducer.hpp"

#include <algorithm>

#include "mpm_layer/merge/mutual_pairs.hpp"

namespace mpm {
namespace {

class MutualPairs : public Reducer {
public:
    std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const override {
        std::vector<RowsView> images(batch.size());
        std::transform(batch.begin(), batch.end(), images.begin(),
                       [](const StageContext& c) { return c.tokens; });
        const std::vector<std::vector<int>> nearest = nearestNeighbours(images);
        std::vector<MergeMap> maps(batch.size());
        std::transform(nearest.begin(), nearest.end(), maps.begin(), pairUp);
        return maps;
    }
};

}  // namespace

std::shared_ptr<const Reducer> makeReducer(const std::string& method) {
    if (method == "mpm") return std::make_shared<MutualPairs>();
    CV_Error(cv::Error::StsBadArg, "mpm: method '" + method + "' is not known; expected mpm or none");
}

}  // namespace mpm
