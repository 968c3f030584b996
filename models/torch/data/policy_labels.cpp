#include "models/torch/data/batches.hpp"

#include <limits>

#include "models/torch/model/policy.hpp"

namespace mpm::models {

torch::Tensor policyLabels(const torch::Tensor& labels, int64_t ignored, bool ignoredBorder) {
    TORCH_CHECK(labels.dim() == 3 && labels.size(1) % kSuperpatch == 0 && labels.size(2) % kSuperpatch == 0,
                "policyLabels: labels must be [B, H, W] with H and W multiples of ", kSuperpatch);
    const int64_t rows = labels.size(1) / kSuperpatch, columns = labels.size(2) / kSuperpatch;
    const auto pixels = labels.reshape({-1, rows, kSuperpatch, columns, kSuperpatch})
                            .permute({0, 1, 3, 2, 4})
                            .reshape({-1, rows, columns, kSuperpatch * kSuperpatch});
    auto one = (pixels.amax(-1) == pixels.amin(-1)).to(torch::kInt64);
    if (!ignoredBorder) return one;
    const auto unknown = pixels == ignored;
    constexpr auto kMost = std::numeric_limits<int64_t>::max();
    const auto highest = pixels.masked_fill(unknown, -kMost).amax(-1),
               lowest = pixels.masked_fill(unknown, kMost).amin(-1);
    auto open = unknown.any(-1) & (highest == lowest);  // of ignored pixels only: lowest is above highest
    if (rows > 2 && columns > 2) open.slice(1, 1, rows - 1).slice(2, 1, columns - 1).fill_(false);
    return one.masked_fill(open, kNoPolicyLabel);
}

}  // namespace mpm::models
