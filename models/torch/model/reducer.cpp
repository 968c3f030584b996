#include "models/torch/model/reducer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <torch/utils.h>

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
    // Divides by the largest magnitude first, so that squares do not overflow f32.
    const auto peak = std::get<0>(tokens.abs().max(1, true));
    const auto scaled = tokens / torch::where(peak > 0, peak, torch::ones_like(peak));
    const auto norm = scaled.pow(2).sum(1, true).sqrt();
    return scaled / torch::where(norm > 0, norm, torch::ones_like(norm));
}

/// Returns for each row the index of the most similar row, the lowest index on ties; -1 if the row has NaN or
/// Inf, or if no other row is finite.
static std::vector<int64_t> bestPartners(const torch::Tensor& tokens) {
    const int64_t count = tokens.size(0);
    const auto finite = tokens.isfinite().all(1);
    const auto unit = unitRows(torch::where(finite.unsqueeze(1), tokens, torch::zeros_like(tokens)));
    // Copies the upper triangle to the lower, so that rounding cannot make (i, j) and (j, i) differ.
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
        const float* best = std::max_element(row, row + count);  // the first if several are equal
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
    // Scales the members before it adds them, because a sum of members could overflow.
    const auto shares = tokens * (weights / sums.index_select(0, ids)).unsqueeze(1);
    return torch::zeros({sums.numel(), tokens.size(1)}, tokens.options()).index_add(0, ids, shares);
}

namespace {

struct Matching {
    std::vector<int64_t> sources, targets, match;  ///< match: index in `targets`, for each source
    std::vector<float> similarity;                 ///< of each source
};

Matching matchAlternating(const torch::Tensor& metric, int64_t special) {
    const auto unit = unitRows(metric.detach().to(torch::kFloat32).to(torch::kCPU));
    Matching matching;
    for (int64_t i = 0; i < unit.size(0); ++i)
        ((i + special) % 2 == 0 ? matching.sources : matching.targets).push_back(i);
    if (matching.sources.empty() || matching.targets.empty()) return matching;
    const auto rows = [&](const std::vector<int64_t>& which) {
        return unit.index_select(0, torch::tensor(which, torch::kInt64));
    };
    const auto table = torch::matmul(rows(matching.sources), rows(matching.targets).t()).contiguous();
    const auto across = static_cast<int64_t>(matching.targets.size());
    for (size_t s = 0; s < matching.sources.size(); ++s) {
        const float* row = table.data_ptr<float>() + static_cast<int64_t>(s) * across;
        const float* best = std::max_element(row, row + across);  // the first if several are equal
        matching.match.push_back(best - row);
        matching.similarity.push_back(*best);
    }
    return matching;
}

torch::Tensor join(const Matching& matching, int64_t edges) {
    std::vector<size_t> order(matching.match.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return matching.similarity[a] > matching.similarity[b]; });
    std::vector<bool> joins(matching.sources.size(), false);
    for (size_t i = 0; i < order.size() && static_cast<int64_t>(i) < edges; ++i)
        joins[order[i]] = true;
    auto map = torch::zeros({static_cast<int64_t>(matching.sources.size() + matching.targets.size())},
                            torch::kInt64);
    int64_t* ids = map.data_ptr<int64_t>();
    int64_t next = 0;
    for (size_t s = 0; s < joins.size(); ++s) {
        if (!joins[s]) ids[matching.sources[s]] = next++;
    }
    for (int64_t target : matching.targets)
        ids[target] = next++;
    for (size_t s = 0; s < joins.size(); ++s) {
        if (joins[s])
            ids[matching.sources[s]] = ids[matching.targets[static_cast<size_t>(matching.match[s])]];
    }
    return map;
}

/// Returns the mean cosine of the six pairs in each 2x2 window, as [windows] in raster order.
torch::Tensor windowSimilarity(const torch::Tensor& unit, int64_t height, int64_t width) {
    const auto grid =
        unit.reshape({height, width, -1}).slice(0, 0, height / 2 * 2).slice(1, 0, width / 2 * 2);
    const auto windows = grid.reshape({height / 2, 2, width / 2, 2, -1})
                             .permute({0, 2, 1, 3, 4})
                             .reshape({-1, 4, unit.size(1)});
    // For four unit rows, |a + b + c + d|^2 is the sum of their squares plus twice the cosine of each pair.
    const auto squares = windows.pow(2).sum(2).sum(1);
    return (windows.sum(1).pow(2).sum(1) - squares) / 12;
}

}  // namespace

torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, int64_t edges) {
    return join(matchAlternating(metric, special), std::min(edges, metric.size(0) / 2));
}

torch::Tensor alternatingMap(const torch::Tensor& metric, int64_t special, double deviations) {
    const auto matching = matchAlternating(metric, special);
    if (matching.similarity.size() < 2) return join(matching, 0);
    const auto similarity = torch::tensor(matching.similarity).to(torch::kFloat64);
    const double least = similarity.mean().item<double>() + similarity.std().item<double>() * deviations;
    return join(matching, (similarity >= least).sum().item<int64_t>());
}

torch::Tensor windowMap(const torch::Tensor& tokens, int64_t gridHeight, int64_t gridWidth,
                        double threshold) {
    TORCH_CHECK(tokens.size(0) == gridHeight * gridWidth, "windowMap: tokens must fill the grid");
    const auto unit = unitRows(tokens.detach().to(torch::kFloat64).to(torch::kCPU));
    const auto similarity = windowSimilarity(unit, gridHeight, gridWidth);
    const auto order = std::get<1>(similarity.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
    auto map = torch::full({tokens.size(0)}, -1, torch::kInt64);
    int64_t* ids = map.data_ptr<int64_t>();
    int64_t next = 0;
    for (int64_t i = 0; i < order.numel(); ++i) {
        const int64_t window = order[i].item<int64_t>();
        if (similarity[window].item<double>() < threshold) break;
        const int64_t corner = window / (gridWidth / 2) * 2 * gridWidth + window % (gridWidth / 2) * 2;
        for (int64_t token : {corner, corner + 1, corner + gridWidth, corner + gridWidth + 1})
            ids[token] = next;
        ++next;
    }
    for (int64_t i = 0; i < map.numel(); ++i) {
        if (ids[i] < 0) ids[i] = next++;
    }
    return map;
}

}  // namespace mpm::models
