#include "models/torch/loss.hpp"

namespace F = torch::nn::functional;

namespace mpm::models {

/// What each further error costs in IoU, errors falling: isClass [P] tells which pixels are of the class.
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
    auto wanted = teacher;
    if (teacher.sizes().slice(2) != size) {
        wanted = F::interpolate(
            teacher,
            F::InterpolateFuncOptions().size(size.vec()).mode(torch::kBilinear).align_corners(false));
    }
    const auto divergence =
        F::kl_div(student.to(torch::kFloat32).log_softmax(1), wanted.to(torch::kFloat32).softmax(1),
                  F::KLDivFuncOptions().reduction(torch::kSum));
    return divergence / (student.size(0) * size[0] * size[1]);
}

}  // namespace mpm::models
