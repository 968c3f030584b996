#include "models/torch/model/policy.hpp"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "models/torch/files/checkpoint_file.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/model/named_tensors.hpp"

namespace mpm::models {
namespace {

constexpr const char* kLayout = "mbconv 1";  // name in files; must change if kStem or kBlocks change
constexpr int64_t kStem = 12;
struct BlockSpec {
    int64_t in, out, expansion, kernel, stride;
};
constexpr BlockSpec kBlocks[] = {
    {12, 24, 2, 3, 2}, {24, 32, 4, 3, 2},  {32, 32, 4, 3, 1},   {32, 64, 4, 5, 2},
    {64, 64, 3, 5, 1}, {64, 112, 4, 5, 2}, {112, 112, 3, 5, 1},
};

double multiplyAddsOf(const ConvNorm& layer, double pixels) {
    return pixels * static_cast<double>(layer->conv->weight.numel());
}

}  // namespace

ConvNormImpl::ConvNormImpl(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups,
                           bool activates)
    : m_activates(activates) {
    conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                                                         .stride(stride)
                                                         .padding(kernel / 2)
                                                         .groups(groups)
                                                         .bias(false)));
    norm = register_module("norm", torch::nn::BatchNorm2d(out));
}

torch::Tensor ConvNormImpl::forward(const torch::Tensor& x) {
    const auto y = norm(conv(x));
    return m_activates ? y.clamp(0, 6) : y;
}

std::pair<torch::Tensor, torch::Tensor> ConvNormImpl::folded() const {
    const torch::NoGradGuard noGrad;
    const auto scale = norm->weight / (norm->running_var + norm->options.eps()).sqrt();
    return {conv->weight * scale.reshape({-1, 1, 1, 1}), norm->bias - norm->running_mean * scale};
}

InvertedResidualImpl::InvertedResidualImpl(int64_t in, int64_t out, int64_t expansion, int64_t kernel,
                                           int64_t stride)
    : m_shortcut(in == out && stride == 1) {
    const int64_t wide = checkedProduct<int64_t>(in, expansion);
    expand = register_module("expand", ConvNorm(in, wide, 1, 1, 1, true));
    depthwise = register_module("depthwise", ConvNorm(wide, wide, kernel, stride, wide, true));
    project = register_module("project", ConvNorm(wide, out, 1, 1, 1, false));
}

torch::Tensor InvertedResidualImpl::forward(const torch::Tensor& x) {
    const auto y = project(depthwise(expand(x)));
    return m_shortcut ? x + y : y;
}

PolicyNetImpl::PolicyNetImpl(const Normalisation& normalisation) : m_normalisation(normalisation) {
    stem = register_module("stem", ConvNorm(3, kStem, 3, 2, 1, true));
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (const auto& [in, out, expansion, kernel, stride] : kBlocks)
        blocks->push_back(InvertedResidual(in, out, expansion, kernel, stride));
    head =
        register_module("head", torch::nn::Conv2d(torch::nn::Conv2dOptions(std::end(kBlocks)[-1].out, 2, 1)));
}

torch::Tensor PolicyNetImpl::forward(const torch::Tensor& images) {
    TORCH_CHECK(images.dim() == 4 && images.size(2) % kSuperpatch == 0 && images.size(3) % kSuperpatch == 0,
                "a policy takes images [B, 3, H, W] with H and W multiples of ", kSuperpatch);
    auto x = stem(images);
    for (const auto& block : *blocks)
        x = block->as<InvertedResidualImpl>()->forward(x);
    return head(x);
}

double PolicyNetImpl::multiplyAdds(int64_t height, int64_t width) const {
    double pixels = static_cast<double>(height) * static_cast<double>(width) / 4;
    double sum = multiplyAddsOf(stem, pixels);
    for (const auto& module : *blocks) {
        const auto& block = *module->as<InvertedResidualImpl>();
        sum += multiplyAddsOf(block.expand, pixels);
        const auto stride = static_cast<double>(block.depthwise->conv->options.stride()->at(0));
        pixels /= stride * stride;
        sum += multiplyAddsOf(block.depthwise, pixels) + multiplyAddsOf(block.project, pixels);
    }
    return sum + pixels * static_cast<double>(head->weight.numel());
}

namespace {

/// Returns parameters and running statistics, without num_batches_tracked, which does not influence results.
std::vector<std::pair<std::string, torch::Tensor>> stateOf(const PolicyNet& policy) {
    std::vector<std::pair<std::string, torch::Tensor>> state;
    for (const auto& entry : policy->named_parameters())
        state.emplace_back("policy." + entry.key(), entry.value());
    for (const auto& entry : policy->named_buffers())
        if (entry.value().scalar_type() == torch::kFloat32)
            state.emplace_back("policy." + entry.key(), entry.value());
    return state;
}

Normalisation normalisationFrom(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    demand(json.is_object() && json.contains("policy"), "holds no policy; 'mpm-models policy' makes one");
    demand(json.at("policy") == kLayout, "holds a policy of another version");
    try {
        return {json.at("mean"), json.at("std")};
    } catch (const nlohmann::json::exception&) {
        throw FileError("the policy's mean and deviation cannot be read");
    }
}

}  // namespace

void savePolicy(const std::string& path, const PolicyNet& policy) {
    std::vector<DenseTensor> tensors;
    std::vector<torch::Tensor> kept;
    for (const auto& [name, tensor] : stateOf(policy)) {
        kept.push_back(tensor.detach().contiguous());
        const auto bytes = checkedProduct<size_t>(kept.back().numel(), kept.back().element_size());
        tensors.push_back({name,
                           Element::F32,
                           kept.back().sizes().vec(),
                           {static_cast<const char*>(kept.back().data_ptr()), bytes}});
    }
    const nlohmann::json options{{"policy", kLayout},
                                 {"mean", policy->normalisation().mean},
                                 {"std", policy->normalisation().deviation}};
    PendingFile file(path, Access::Umask);
    writeCheckpoint(file, options.dump(), nullptr, tensors);
    file.keep();
}

PolicyNet loadPolicy(const std::string& path) {
    constexpr uint64_t kLimit = uint64_t{1} << 28;
    return fromFile(path, kLimit, [](const std::string& bytes) {
        const CheckpointFile file = parseCheckpoint(bytes);
        PolicyNet policy(normalisationFrom(file.options));
        const torch::NoGradGuard noGrad;
        for (auto& [name, tensor] : stateOf(policy)) {
            const auto found = file.tensors.find(name);
            demand(found != file.tensors.end(), "the policy lacks ", name);
            demand(tensor.sizes() == torch::IntArrayRef(found->second.shape), name, " has another shape");
            tensor.copy_(toTorch(found->second));
        }
        policy->eval();
        return policy;
    });
}

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
        constexpr int64_t kOwn = -2, kUnseen = -1;  // kOwn: a token for each patch; kUnseen: no number yet
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
