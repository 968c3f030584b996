#include "models/torch/train/optimiser.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <sstream>

#include "models/torch/files/file_error.hpp"
#include "models/torch/model/compute.hpp"

namespace mpm::models {

static bool decays(const std::string& name, const torch::Tensor& weight) {
    if (weight.dim() < 2) return false;
    for (const char* exempt : {"pos_embed", "cls_token", "dist_token", "cls_emb"}) {
        if (name.find(exempt) != std::string::npos) return false;
    }
    return true;
}

/// Returns whether a weight is a matrix that maps tokens to tokens, unlike embeddings.
static bool isHidden(const std::string& name, const torch::Tensor& weight) {
    if (weight.dim() != 2) return false;
    return name.find(".blocks.") != std::string::npos || name.find("proj_") != std::string::npos;
}

Optimiser::Optimiser(Segmenter& model, const OptimiserOptions& options) : m_options(options) {
    std::vector<torch::Tensor> decaying, rest;
    for (auto& entry : model->named_parameters()) {
        auto& weight = entry.value();
        if (options.matrixRate > 0 && isHidden(entry.key(), weight)) {
            const bool stacked = entry.key().find(".qkv.") != std::string::npos;
            m_matrices.push_back({weight, torch::zeros_like(weight), stacked ? 3 : 1});
        } else {
            (decays(entry.key(), weight) ? decaying : rest).push_back(weight);
        }
    }
    const auto group = [&](double decay) {
        return std::make_unique<torch::optim::AdamWOptions>(
            torch::optim::AdamWOptions(options.rate).betas(std::make_tuple(0.9, 0.98)).weight_decay(decay));
    };
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(decaying, group(options.decay));
    groups.emplace_back(rest, group(0.0));
    m_adam = std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions(options.rate));
}

void Optimiser::zeroGrad() {
    m_adam->zero_grad();
    for (auto& matrix : m_matrices)
        matrix.weight.mutable_grad().reset();
}

torch::Tensor orthogonalise(const torch::Tensor& matrix) {
    const bool tall = matrix.size(0) > matrix.size(1);
    auto x = (tall ? matrix.t() : matrix).contiguous();
    x = (x / (x.norm() + 1e-12)).to(ComputeType::current());
    for (int i = 0; i < 5; ++i) {  // moves all singular values towards 1, small values fastest
        const auto square = torch::mm(x, x.t());
        const auto polynomial = square * -4.7750 + torch::mm(square, square) * 2.0315;
        x = x * 3.4445 + torch::mm(polynomial, x);
    }
    x = x.to(torch::kFloat32);
    return tall ? x.t() : x;
}

void Optimiser::stepMatrices(double share) {
    constexpr double kMomentum = 0.95;
    const double rate = m_options.matrixRate * share;
    const auto type = ComputeType::current();
    const auto work = [&](size_t first) {
        torch::NoGradGuard noGrad;
        const ComputeType compute(type);
        for (size_t i = first; i < m_matrices.size(); i += static_cast<size_t>(m_options.workers)) {
            auto& [weight, momentum, pieces] = m_matrices[i];
            momentum.mul_(kMomentum).add_(weight.grad());
            std::vector<torch::Tensor> steps;
            for (const auto& piece : (weight.grad() + momentum * kMomentum).chunk(pieces))
                steps.push_back(orthogonalise(piece));
            // Gives a step a root mean square of 0.2, like AdamW's steps.
            const double scale =
                0.2 * std::sqrt(static_cast<double>(std::max(weight.size(0) / pieces, weight.size(1))));
            weight.mul_(1 - rate * m_options.decay).add_(torch::cat(steps), -rate * scale);
        }
    };
    std::vector<std::future<void>> others;
    for (int worker = 1; worker < m_options.workers; ++worker)
        others.push_back(std::async(std::launch::async, work, static_cast<size_t>(worker)));
    work(0);
    for (auto& other : others)
        other.get();
}

void Optimiser::step(double share) {
    for (auto& group : m_adam->param_groups())
        static_cast<torch::optim::AdamWOptions&>(group.options()).lr(m_options.rate * share);
    m_adam->step();
    stepMatrices(share);
}

namespace {

using AdamState = torch::optim::AdamWParamState;
using AdamStates = std::remove_reference_t<decltype(std::declval<torch::optim::AdamW&>().state())>;

/// Returns the key of a weight's state: the weight's address, as text in LibTorch 1.13, as a pointer in 2.x.
template <class Key = AdamStates::key_type>
Key keyOf(const torch::Tensor& weight) {
    if constexpr (std::is_same_v<Key, std::string>) {
        std::ostringstream text;
        text << weight.unsafeGetTensorImpl();
        return text.str();
    } else {
        return weight.unsafeGetTensorImpl();
    }
}

const torch::Tensor& partOf(const Optimiser::State& state, const std::string& name,
                            torch::IntArrayRef shape) {
    const auto found = state.find(name);
    demand(found != state.end() && found->second.sizes() == shape,
           "the optimiser's state does not fit the model: ", nameOf(name));
    return found->second;
}

}  // namespace

std::vector<torch::Tensor> Optimiser::adamWeights() const {
    std::vector<torch::Tensor> weights;
    for (const auto& group : m_adam->param_groups())
        weights.insert(weights.end(), group.params().begin(), group.params().end());
    return weights;
}

Optimiser::State Optimiser::state() const {
    State state;
    for (size_t i = 0; i < m_matrices.size(); ++i)
        state["momentum" + std::to_string(i)] = m_matrices[i].momentum;
    const auto weights = adamWeights();
    for (size_t i = 0; i < weights.size(); ++i) {
        const auto found = m_adam->state().find(keyOf(weights[i]));
        if (found == m_adam->state().end()) continue;  // the weight had no gradient yet
        const auto& adam = static_cast<const AdamState&>(*found->second);
        const std::string name = "adam." + std::to_string(i);
        state[name + ".step"] = torch::tensor(adam.step(), torch::kInt64);
        state[name + ".exp_avg"] = adam.exp_avg();
        state[name + ".exp_avg_sq"] = adam.exp_avg_sq();
    }
    return state;
}

void Optimiser::restore(const State& state) {
    const torch::NoGradGuard noGrad;
    for (size_t i = 0; i < m_matrices.size(); ++i) {
        auto& momentum = m_matrices[i].momentum;
        momentum.copy_(partOf(state, "momentum" + std::to_string(i), momentum.sizes()));
    }
    const auto weights = adamWeights();
    for (size_t i = 0; i < weights.size(); ++i) {
        const std::string name = "adam." + std::to_string(i);
        if (state.count(name + ".step") == 0) continue;
        const auto like = [&](const char* part) {
            return torch::empty_like(weights[i]).copy_(partOf(state, name + part, weights[i].sizes()));
        };
        auto adam = std::make_unique<AdamState>();
        const auto step = partOf(state, name + ".step", {}).item<int64_t>();
        demand(step >= 0, "the optimiser's state is damaged");
        adam->step(step);
        adam->exp_avg(like(".exp_avg"));
        adam->exp_avg_sq(like(".exp_avg_sq"));
        m_adam->state()[keyOf(weights[i])] = std::move(adam);
    }
}

int64_t stepLimit(const std::optional<int64_t>& wanted, double minutes, int64_t usual) {
    return wanted.value_or(minutes > 0 ? kNoLimit : usual);
}

double rateShare(int64_t step, int64_t warmUp, double way) {
    constexpr double kFloor = 0.01;
    if (step < warmUp) return std::max(kFloor, static_cast<double>(step + 1) / static_cast<double>(warmUp));
    return kFloor + (1 - kFloor) * 0.5 * (1 + std::cos(3.14159265358979 * std::min(1.0, way)));
}

void updateMean(torch::nn::Module& mean, const torch::nn::Module& model, int64_t step, double decay) {
    const torch::NoGradGuard noGrad;
    const double young = (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step));
    const double share = std::min(decay, young);
    const auto blend = [&](std::vector<torch::Tensor> to, const std::vector<torch::Tensor>& from) {
        for (size_t i = 0; i < to.size(); ++i)
            if (to[i].is_floating_point()) to[i].mul_(share).add_(from[i], 1 - share);
    };
    blend(mean.parameters(), model.parameters());
    blend(mean.buffers(), model.buffers());
}

void copyWeights(Segmenter& to, const Segmenter& from) {
    torch::NoGradGuard noGrad;
    const auto &there = from->options().vit, &here = to->options().vit;
    const auto source = from->named_parameters();
    auto target = to->named_parameters();
    const bool sameDecoder = from->options().decoder == to->options().decoder;
    const auto isTaken = [&](const std::string& name) {
        return sameDecoder || name.rfind("decoder.", 0) != 0;
    };
    TORCH_CHECK(there.heads == here.heads, "the weights to start from have ", there.heads,
                " heads, the model ", here.heads, "; train a model of the same variant");
    for (const auto& entry : source)
        TORCH_CHECK(!isTaken(entry.key()) || target.contains(entry.key()), "the weights to start from have ",
                    entry.key(), ", which the model lacks; train a model of the same variant");
    for (auto& entry : target) {
        if (!isTaken(entry.key())) continue;
        const auto* weight = source.find(entry.key());
        TORCH_CHECK(weight, "the weights to start from lack ", entry.key());
        auto value = *weight;
        if (entry.key() == "encoder.pos_embed")
            value = resizePositions(value, there.specialTokens(), there.gridHeight(), there.gridWidth(),
                                    here.gridHeight(), here.gridWidth());
        TORCH_CHECK(value.sizes() == entry.value().sizes(), "the weights to start from have ", entry.key(),
                    " of another shape");
        entry.value().copy_(value);
    }
}

}  // namespace mpm::models
