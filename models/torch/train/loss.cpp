#include "models/torch/train/evaluate.hpp"

#include <limits>

#include <torch/nn/functional/loss.h>

namespace F = torch::nn::functional;

namespace mpm::models {

/// Lets the pixels become wrong one after another, and returns how much the IoU falls at each pixel.
/// isClass [P] is 1 for pixels of the class; the pixels are sorted from the highest to the lowest error.
static torch::Tensor overlapLost(const torch::Tensor& isClass) {
    const auto total = isClass.sum();
    const auto intersection = total - isClass.cumsum(0);
    const auto united = total + (1 - isClass).cumsum(0);
    const auto lost = 1 - intersection / united;
    return torch::cat(
        {lost.narrow(0, 0, 1), lost.narrow(0, 1, lost.size(0) - 1) - lost.narrow(0, 0, lost.size(0) - 1)});
}

torch::Tensor lovaszLoss(const torch::Tensor& logits, const torch::Tensor& labels, int64_t ignored) {
    const int64_t classes = logits.size(1);
    const auto flat = labels.reshape({-1});
    const auto known = (flat != ignored).nonzero().squeeze(1);
    const auto ids = flat.index_select(0, known);
    const auto shares = logits.permute({0, 2, 3, 1})
                            .reshape({-1, classes})
                            .index_select(0, known)
                            .softmax(1)
                            .t()
                            .contiguous();
    std::vector<torch::Tensor> losses;
    for (int64_t c = 0; c < classes; ++c) {
        const auto isClass = (ids == c).to(torch::kFloat32);
        if (isClass.sum().item<float>() == 0) continue;
        const auto [errors, order] = (isClass - shares[c]).abs().sort(0, true);
        losses.push_back((errors * overlapLost(isClass.index_select(0, order))).sum());
    }
    return losses.empty() ? logits.sum() * 0 : torch::stack(losses).mean();
}

torch::Tensor teacherLoss(const torch::Tensor& student, const torch::Tensor& teacher) {
    const auto size = student.sizes().slice(2);
    const auto wanted = teacher.sizes().slice(2) == size ? teacher : enlarge(teacher, size[0], size[1]);
    const auto divergence =
        F::kl_div(student.to(torch::kFloat32).log_softmax(1), wanted.to(torch::kFloat32).softmax(1),
                  F::KLDivFuncOptions().reduction(torch::kSum));
    return divergence / (student.size(0) * size[0] * size[1]);
}

torch::Tensor patchShares(const torch::Tensor& labels, int64_t classes, int64_t gridHeight,
                          int64_t gridWidth) {
    std::vector<torch::Tensor> planes;
    for (int64_t c = 0; c < classes; ++c)
        planes.push_back((labels == c).to(torch::kFloat32));
    const auto means = torch::adaptive_avg_pool2d(torch::stack(planes, 1), {gridHeight, gridWidth});
    return means.flatten(2).transpose(1, 2);
}

torch::Tensor neighbourLoss(const torch::Tensor& tokens, const torch::Tensor& shares) {
    constexpr double kTemperature = 0.05;  // of cosines; low, so that mostly the nearest token counts
    const auto known = (shares.sum(1) > 0).nonzero().squeeze(1);
    if (known.numel() < 2) return tokens.sum() * 0;
    const auto rows = tokens.index_select(0, known), unit = rows / rows.norm(2, 1, true).clamp_min(1e-12);
    const auto some = shares.index_select(0, known), shown = some / some.sum(1, true);
    const auto agreement = 1 - 0.5 * torch::cdist(shown, shown, 1.0);  // share of pixels with the same class
    auto nearness = torch::matmul(unit, unit.t()) / kTemperature;
    const auto itself = torch::eye(nearness.size(0), nearness.options().dtype(torch::kBool));
    nearness = nearness.masked_fill(itself, -std::numeric_limits<float>::infinity());
    const auto agreeing = (nearness.softmax(1) * agreement).sum(1);
    return -agreeing.clamp_min(1e-6).log().mean();
}

}  // namespace mpm::models
