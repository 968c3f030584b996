#include "models/torch/optimise.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::models {

static bool decays(const std::string& name, const torch::Tensor& weight) {
    if (weight.dim() < 2) return false;
    for (const char* exempt : {"pos_embed", "cls_token", "dist_token", "cls_emb"}) {
        if (name.find(exempt) != std::string::npos) return false;
    }
    return true;
}

std::unique_ptr<torch::optim::AdamW> makeOptimiser(Segmenter& model, double rate, double decay) {
    std::vector<torch::Tensor> decaying, rest;
    for (auto& entry : model->named_parameters()) {
        (decays(entry.key(), entry.value()) ? decaying : rest).push_back(entry.value());
    }
    const auto options = [&](double weightDecay) {
        return std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(rate).betas(std::make_tuple(0.9, 0.98)).weight_decay(weightDecay));
    };
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(decaying, options(decay));
    groups.emplace_back(rest, options(0.0));
    return std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions(rate));
}

void setRate(torch::optim::Optimizer& optimiser, double rate) {
    for (auto& group : optimiser.param_groups()) {
        static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    }
}

double rateAt(int64_t step, int64_t steps, int64_t warmUp, double peak) {
    const double floor = 0.01 * peak;
    if (step < warmUp)
        return std::max(floor, peak * static_cast<double>(step + 1) / static_cast<double>(warmUp));
    const double way =
        static_cast<double>(step - warmUp) / std::max<double>(1.0, static_cast<double>(steps - warmUp));
    return floor + (peak - floor) * 0.5 * (1 + std::cos(3.14159265358979 * std::min(1.0, way)));
}

void updateMean(Segmenter& mean, const Segmenter& model, int64_t step, double decay) {
    torch::NoGradGuard noGrad;
    const double share =
        std::min(decay, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
    const auto from = model->parameters();
    auto to = mean->parameters();
    for (size_t i = 0; i < to.size(); ++i)
        to[i].mul_(share).add_(from[i], 1.0 - share);
}

void copyWeights(Segmenter& to, const Segmenter& from) {
    torch::NoGradGuard noGrad;
    const auto source = from->parameters();
    auto target = to->parameters();
    for (size_t i = 0; i < target.size(); ++i)
        target[i].copy_(source[i]);
}

}  // namespace mpm::models
