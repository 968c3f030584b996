// The published methods beside mutual pairs.
#include <algorithm>
#include <numeric>

#include "models/torch/model/reducer.hpp"

namespace mpm::models {
namespace {

struct Matching {
    std::vector<int64_t> sources, targets, match;  ///< match: place in `targets`, of each source
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
        const float* best = std::max_element(row, row + across);  // the first of equals
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

/// Mean cosine of the six pairs in each 2x2 window, [windows], windows in raster order.
torch::Tensor windowSimilarity(const torch::Tensor& unit, int64_t height, int64_t width) {
    const auto grid =
        unit.reshape({height, width, -1}).slice(0, 0, height / 2 * 2).slice(1, 0, width / 2 * 2);
    const auto windows = grid.reshape({height / 2, 2, width / 2, 2, -1})
                             .permute({0, 2, 1, 3, 4})
                             .reshape({-1, 4, unit.size(1)});
    // |a + b + c + d|^2 holds each pair twice and four ones.
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
