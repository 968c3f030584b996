#include "models/torch/model/reducer.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <limits>

namespace mpm::models {

bool ReducerSettings::reduces() const {
    TORCH_CHECK(method == "mpm" || method == "tome" || method == "algm" || method == "none", "reducer ",
                method, ": expected mpm, tome, algm or none");
    if (method == "mpm") return !schedule.empty();
    return method == "algm" || (method == "tome" && edges > 0);
}

bool ReducerSettings::actsBefore(int64_t block) const {
    return method == "mpm" && std::find(schedule.begin(), schedule.end(), block) != schedule.end();
}

bool ReducerSettings::actsInside(int64_t block, int64_t depth) const {
    if (method == "tome") return true;
    return method == "algm" && (block == 0 || (depth >= 5 && block == (depth >= 24 ? 6 : 4)));
}

torch::Tensor unitRows(const torch::Tensor& tokens) {
    // Scaling by the largest magnitude first keeps squares inside the range of f32.
    const auto peak = std::get<0>(tokens.abs().max(1, true));
    const auto scaled = tokens / torch::where(peak > 0, peak, torch::ones_like(peak));
    const auto norm = scaled.pow(2).sum(1, true).sqrt();
    return scaled / torch::where(norm > 0, norm, torch::ones_like(norm));
}

/// Best partner of each row, the lowest on ties; -1 for a row that takes no part (NaN or Inf in it, or
/// alone).
static std::vector<int64_t> bestPartners(const torch::Tensor& tokens) {
    const int64_t count = tokens.size(0);
    const auto finite = tokens.isfinite().all(1);
    const auto unit = unitRows(torch::where(finite.unsqueeze(1), tokens, torch::zeros_like(tokens)));
    // The same number for (i, j) and (j, i): the upper triangle, mirrored.
    const auto upper = torch::matmul(unit, unit.t()).triu(1);
    auto similarity = upper + upper.t();
    similarity.fill_diagonal_(-std::numeric_limits<float>::infinity());
    similarity.masked_fill_(finite.logical_not().unsqueeze(0), -std::numeric_limits<float>::infinity());
    const auto table = similarity.to(torch::kCPU).contiguous();
    const auto takesPart = finite.to(torch::kCPU).contiguous();
    std::vector<int64_t> partners(count, -1);
    for (int64_t i = 0; i < count; ++i) {
        if (!takesPart.data_ptr<bool>()[i]) continue;
        const float* row = table.data_ptr<float>() + i * count;
        const float* best = std::max_element(row, row + count);  // the first of equals
        if (*best > -std::numeric_limits<float>::infinity()) partners[i] = best - row;
    }
    return partners;
}

torch::Tensor mutualPairMap(const torch::Tensor& tokens) {
    TORCH_CHECK(tokens.dim() == 2, "mutualPairMap: tokens must be [N, D]");
    torch::NoGradGuard noGrad;
    const int64_t count = tokens.size(0);
    auto map = torch::zeros({count}, torch::kInt64);
    if (count == 0) return map;
    const auto partners = bestPartners(tokens.detach().to(torch::kFloat32));
    int64_t* ids = map.data_ptr<int64_t>();
    int64_t next = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t j = partners[i];
        const bool isPair = j >= 0 && partners[j] == i;
        ids[i] = isPair && j < i ? ids[j] : next++;
    }
    return map;
}

torch::Tensor clusterSizes(const torch::Tensor& sizes, const torch::Tensor& map) {
    const int64_t clusters = map.numel() ? map.max().item<int64_t>() + 1 : 0;
    return torch::zeros({clusters}, sizes.options()).index_add(0, map.to(sizes.device()), sizes);
}

torch::Tensor clusterMeans(const torch::Tensor& tokens, const torch::Tensor& map,
                           const torch::Tensor& sizes) {
    const auto ids = map.to(tokens.device());
    const auto weights = sizes.defined() ? sizes : torch::ones({map.numel()}, tokens.options());
    const auto sums = clusterSizes(weights, ids);
    // Members are divided before they are added, so that a mean stays in the members' range.
    const auto shares = tokens * (weights / sums.index_select(0, ids)).unsqueeze(1);
    return torch::zeros({sums.numel(), tokens.size(1)}, tokens.options()).index_add(0, ids, shares);
}

}  // namespace mpm::models
