#include "models/torch/model/policy.hpp"

#include <cmath>
#include <limits>

#include "base/checked.hpp"

namespace mpm::models {

int64_t Sharing::countOn(int64_t superpatches, int64_t ofModel) const {
    TORCH_CHECK(shared >= 0 && shared <= ofModel, "the model has ", ofModel, " superpatches, ", shared,
                " cannot share");
    return std::llround(static_cast<double>(shared) * static_cast<double>(superpatches) /
                        static_cast<double>(ofModel));
}

torch::Tensor highestScores(const torch::Tensor& scores, int64_t count) {
    const torch::NoGradGuard noGrad;
    const auto known =
        scores.nan_to_num(-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity());
    const auto order = std::get<1>(known.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true));
    return std::get<0>(order.narrow(1, 0, count).sort(1));
}

SharedTokens shareTokens(const torch::Tensor& chosen, int64_t gridHeight, int64_t gridWidth) {
    TORCH_CHECK(gridHeight % 2 == 0 && gridWidth % 2 == 0, "sharing needs an even grid of patches, not ",
                gridHeight, "x", gridWidth);
    const int64_t images = chosen.size(0), shared = chosen.size(1), across = gridWidth / 2;
    const auto patches = checkedProduct<int64_t>(gridHeight, gridWidth);
    const auto picks = chosen.to(torch::kCPU).contiguous();
    SharedTokens tokens{torch::empty({images, patches - 3 * shared}, torch::kInt64),
                        torch::empty({images, patches}, torch::kInt64)};
    for (int64_t image = 0; image < images; ++image) {
        constexpr int64_t kOwn = -2, kUnseen = -1;  // a token of the patch; a shared token without a number
        std::vector<int64_t> token(static_cast<size_t>(patches / 4), kOwn);
        for (int64_t k = 0; k < shared; ++k)
            token.at(static_cast<size_t>(picks.data_ptr<int64_t>()[image * shared + k])) = kUnseen;
        auto* row = tokens.rows[image].data_ptr<int64_t>();
        auto* map = tokens.map[image].data_ptr<int64_t>();
        int64_t next = 0;
        for (int64_t patch = 0; patch < patches; ++patch) {
            const int64_t super = patch / gridWidth / 2 * across + patch % gridWidth / 2;
            int64_t& number = token[static_cast<size_t>(super)];
            if (number >= 0) {
                map[patch] = number;
                continue;
            }
            row[next] = number == kOwn ? patch : patches + super;
            if (number == kUnseen) number = next;
            map[patch] = next++;
        }
    }
    return {tokens.rows.to(chosen.device()), tokens.map.to(chosen.device())};
}

torch::Tensor superpatchMeans(const torch::Tensor& rows, int64_t gridHeight, int64_t gridWidth) {
    const auto dim = rows.size(2);
    return rows.reshape({rows.size(0), gridHeight / 2, 2, gridWidth / 2, 2, dim}).mean({2, 4}).flatten(1, 2);
}

}  // namespace mpm::models
