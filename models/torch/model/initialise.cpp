#include "models/torch/model/segmenter.hpp"

#include <cmath>

#include "base/random.hpp"

namespace mpm::models {
namespace {

void truncatedNormal(torch::Tensor weight, double deviation) {
    weight.copy_(torch::randn(weight.sizes()).clamp(-2.0, 2.0) * deviation);
}

torch::Tensor sineCosine(int64_t dim, int64_t height, int64_t width) {
    const int64_t quarter = dim / 4;
    const auto rate =
        torch::pow(10000.0, -torch::arange(quarter, torch::kFloat32) / static_cast<double>(quarter));
    const auto encode = [&](const torch::Tensor& position) {
        const auto angle = position.reshape({-1, 1}) * rate.reshape({1, -1});
        return torch::cat({angle.sin(), angle.cos()}, 1);
    };
    const auto y = torch::arange(height, torch::kFloat32).repeat_interleave(width);
    const auto x = torch::arange(width, torch::kFloat32).repeat(height);
    auto positions = torch::cat({encode(x), encode(y)}, 1);
    if (positions.size(1) < dim) positions = torch::constant_pad_nd(positions, {0, dim - positions.size(1)});
    return positions;
}

struct Factors {
    torch::Tensor left, right;  ///< left * right^T approximates a matrix
};

Factors factorise(const torch::Tensor& matrix, int64_t rank) {
    const auto [u, s, vh] = torch::linalg_svd(matrix, false);
    const auto root = s.narrow(0, 0, rank).sqrt();
    return {u.narrow(1, 0, rank) * root, vh.narrow(0, 0, rank).t() * root};
}

torch::Tensor nearIdentity(int64_t dim, double noise, double diagonal) {
    return torch::randn({dim, dim}) * (noise / std::sqrt(static_cast<double>(dim))) +
           torch::eye(dim) * diagonal;
}

void initialiseAttention(VitAttentionImpl& attention, int64_t dim, int64_t heads) {
    const int64_t head = dim / heads;
    for (int64_t h = 0; h < heads; ++h) {
        const auto agree = factorise(nearIdentity(dim, 0.7, 0.7), head);
        attention.qkv->weight.narrow(0, h * head, head).copy_(agree.left.t());
        attention.qkv->weight.narrow(0, dim + h * head, head).copy_(agree.right.t());
    }
    const auto oppose = factorise(nearIdentity(dim, 0.4, -0.4), dim);
    attention.qkv->weight.narrow(0, 2 * dim, dim).copy_(oppose.left.t());
    attention.proj->weight.copy_(oppose.right);
}

void initialiseDecoder(DecoderImpl& decoder, int64_t dim) {
    if (auto* boxes = dynamic_cast<BoxDecoderImpl*>(&decoder)) {
        boxes->scores->bias.fill_(-4.6);  // a score of 0.01, because most patches show no object
        boxes->sizes->bias.fill_(1);
    }
    auto* mask = dynamic_cast<MaskTransformerImpl*>(&decoder);
    if (!mask) return;
    const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
    mask->projPatch.copy_(torch::randn(mask->projPatch.sizes()) * scale);
    mask->projClasses.copy_(torch::randn(mask->projClasses.sizes()) * scale);
    truncatedNormal(mask->clsEmb, 0.02);
}

torch::Tensor patchesOf(const torch::Tensor& pixels, int64_t patch, int count, Random& random) {
    std::vector<torch::Tensor> rows;
    for (int i = 0; i < count; ++i) {
        const auto y = random.below(static_cast<int>(pixels.size(1) - patch) + 1);
        const auto x = random.below(static_cast<int>(pixels.size(2) - patch) + 1);
        rows.push_back(pixels.narrow(1, y, patch).narrow(2, x, patch).reshape({-1}));
    }
    return torch::stack(rows);
}

}  // namespace

void initialise(Segmenter& model) {
    torch::NoGradGuard noGrad;
    const auto& vit = model->options().vit;
    for (auto& entry : model->named_parameters()) {
        auto& weight = entry.value();
        const bool isNorm = entry.key().find("norm") != std::string::npos;
        if (isNorm) continue;  // LibTorch has already set the weights of norms to 1, biases to 0
        if (weight.dim() >= 2)
            truncatedNormal(weight, 0.02);
        else
            weight.zero_();
    }
    auto& encoder = *model->encoder;
    for (const auto& block : *encoder.blocks) {
        initialiseAttention(*block->as<VitBlockImpl>()->attn, vit.dim, vit.heads);
    }
    encoder.posEmbed.narrow(1, vit.specialTokens(), vit.patches())
        .copy_(sineCosine(vit.dim, vit.gridHeight(), vit.gridWidth()).unsqueeze(0));
    initialiseDecoder(*model->decoder, vit.dim);
}

void initialisePatchFilters(Segmenter& model, const std::vector<cv::Mat>& images, uint64_t seed) {
    torch::NoGradGuard noGrad;
    const auto& vit = model->options().vit;
    Random random(seed);
    std::vector<torch::Tensor> rows;
    const int perImage = std::max<int>(1, static_cast<int>(20000 / std::max<size_t>(1, images.size())));
    for (const auto& image : images)
        rows.push_back(
            patchesOf(toTensor(image, model->options().normalisation), vit.patch, perImage, random));
    auto patches = torch::cat(rows);
    const auto mean = patches.mean(0, true);
    patches = patches - mean;
    const auto covariance = patches.t().matmul(patches) / patches.size(0);
    const auto [values, vectors] = torch::linalg_eigh(covariance, "L");  // in ascending order
    const int64_t inputs = covariance.size(0), count = std::min(vit.dim, inputs);
    const auto variance = values.flip(0).narrow(0, 0, count).clamp_min(0);
    const auto basis = vectors.flip(1).narrow(1, 0, count).t();
    // Adds a floor to the variances. Otherwise, the weak components, which are mostly noise, would become as
    // large as the strong components.
    const auto floor = variance[std::min<int64_t>(24, count - 1)] + 1e-6;
    const auto filters = basis / (variance + floor).sqrt().unsqueeze(1);
    auto& weight = model->encoder->patchEmbed->proj->weight;
    weight.narrow(0, 0, count).copy_(filters.reshape({count, 3, vit.patch, vit.patch}));
    model->encoder->patchEmbed->proj->bias.narrow(0, 0, count).copy_(-filters.matmul(mean.squeeze(0)));
}

}  // namespace mpm::models
