#include "models/torch/import/weights.hpp"

#include <cmath>
#include <set>

#include "base/checked.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {
namespace {

bool startsWith(const std::string& text, const std::string& head) {
    return text.compare(0, head.size(), head) == 0;
}

/// Changes all names to Segmenter's: adds the prefix "encoder." to a bare backbone, and removes the prefix
/// "module.", which parallel training adds.
NamedTensors segmenterNames(const NamedTensors& tensors) {
    if (tensors.count("embedding/kernel")) return segmenterNames(fromJax(tensors));
    NamedTensors named;
    const bool bare =
        tensors.count("patch_embed.proj.weight") || tensors.count("module.patch_embed.proj.weight");
    for (const auto& [name, tensor] : tensors) {
        const std::string plain = startsWith(name, "module.") ? name.substr(7) : name;
        named[bare ? "encoder." + plain : plain] = tensor;
    }
    return named;
}

const torch::Tensor& need(const NamedTensors& tensors, const std::string& name, int64_t dims) {
    const auto found = tensors.find(name);
    TORCH_CHECK(found != tensors.end(), "no vision transformer in the file: ", name, " is missing");
    TORCH_CHECK(found->second.dim() == dims, name, " has ", found->second.dim(), " dimensions, expected ",
                dims);
    TORCH_CHECK(found->second.numel() > 0, name, " is empty");
    return found->second;
}

int64_t blocksUnder(const NamedTensors& tensors, const std::string& prefix) {
    int64_t count = 0;
    while (tensors.count(prefix + std::to_string(count) + ".attn.qkv.weight"))
        ++count;
    return count;
}

struct Grid {
    int64_t height, width;
};

void agree(const char* what, int64_t declared, int64_t found) {
    TORCH_CHECK(declared == 0 || declared == found, "variant.yml: ", what, " is ", declared,
                ", but that of the tensors is ", found);
}

Grid sourceGrid(int64_t tokens, const ImportOptions& options, int64_t patch) {
    const auto& variant = options.variant;
    if (variant.height && !options.sourceGridHeight) {
        const Grid grid{variant.height / patch, variant.width / patch};
        agree("the number of patches", checkedProduct<int64_t>(grid.height, grid.width), tokens);
        return grid;
    }
    const auto side = options.sourceGridHeight
                          ? options.sourceGridHeight
                          : static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
    TORCH_CHECK(side > 0 && tokens % side == 0 && (options.sourceGridHeight || side * side == tokens),
                "pos_embed has ", tokens, " positions, which is no square grid; set --source-rows");
    return {side, tokens / side};
}

/// Throws if the file has too few weights for these sizes. Called before the model is made, because a model
/// of wrong sizes could take far more memory than the file.
void checkWeightCount(const NamedTensors& tensors, const SegmenterOptions& model, bool hasDecoder) {
    const auto& vit = model.vit;
    const auto depth = vit.depth + (hasDecoder && model.decoder == "mask" ? model.decoderDepth : 0);
    int64_t held = 0;
    for (const auto& entry : tensors)
        held += entry.second.numel();
    TORCH_CHECK(model.decoderDepth <= 128 && held >= checkedProduct<int64_t>(12, depth, vit.dim, vit.dim),
                "the file holds fewer weights than its ", depth, " blocks of ", vit.dim, " values need");
}

SegmenterOptions optionsFor(const NamedTensors& tensors, const ImportOptions& options, Grid& grid) {
    const torch::Tensor patches = need(tensors, "encoder.patch_embed.proj.weight", 4);
    SegmenterOptions model;
    auto& vit = model.vit;
    vit.dim = patches.size(0);
    vit.patch = patches.size(2);
    TORCH_CHECK(patches.size(1) == 3 && patches.size(3) == vit.patch && (vit.patch == 16 || vit.patch == 8),
                "patches must be 16x16 or 8x8 over 3 channels");
    TORCH_CHECK(vit.dim >= 64 && vit.dim % 64 == 0 && vit.dim <= 4096, "tokens of ", vit.dim,
                " values: expected a multiple of 64");
    const auto& variant = options.variant;
    vit.heads = variant.heads ? variant.heads : vit.dim / 64;
    TORCH_CHECK(vit.dim % vit.heads == 0, "tokens of ", vit.dim, " values cannot have ", vit.heads, " heads");
    vit.depth = blocksUnder(tensors, "encoder.blocks.");
    agree("d_model", variant.dim, vit.dim);
    agree("n_layers", variant.depth, vit.depth);
    agree("patch_size", variant.patch, vit.patch);
    TORCH_CHECK(vit.depth > 0 && vit.depth <= 128, "no transformer blocks in the file");
    vit.distilled = tensors.count("encoder.dist_token") != 0;
    grid =
        sourceGrid(need(tensors, "encoder.pos_embed", 3).size(1) - vit.specialTokens(), options, vit.patch);
    vit.height = options.height ? options.height : grid.height * vit.patch;
    vit.width = options.width ? options.width : grid.width * vit.patch;
    const bool linear = tensors.count("decoder.head.weight") != 0;
    const auto head = tensors.find(linear ? "decoder.head.weight" : "decoder.cls_emb");
    model.decoder = linear ? "linear" : "mask";
    model.classes = head == tensors.end() ? options.classes : head->second.size(linear ? 0 : 1);
    if (head != tensors.end()) {
        TORCH_CHECK(head->second.numel() > 0 && model.classes <= 65535, head->first, ": impossible shape");
        agree("n_cls", variant.classes, model.classes);
    }
    const auto& named = options.normalisation.empty() ? variant.normalisation : options.normalisation;
    if (!named.empty()) model.normalisation = Normalisation::named(named);
    if (head != tensors.end() && !linear) model.decoderDepth = blocksUnder(tensors, "decoder.blocks.");
    checkWeightCount(tensors, model, head != tensors.end());
    return model;
}

}  // namespace

Imported importWeights(const NamedTensors& file, const ImportOptions& options) {
    torch::NoGradGuard noGrad;
    const NamedTensors tensors = segmenterNames(file);
    Grid grid{};
    const auto sizes = optionsFor(tensors, options, grid);
    Imported result;
    result.model = Segmenter(sizes);
    initialise(result.model);
    std::set<std::string> taken;
    for (auto& entry : result.model->named_parameters()) {
        const auto found = tensors.find(entry.key());
        if (found == tensors.end()) {
            TORCH_CHECK(!startsWith(entry.key(), "encoder."),
                        "the file's backbone is incomplete: ", entry.key(), " is missing");
            result.report.missing.push_back(entry.key());
            continue;
        }
        auto source = found->second;
        if (entry.key() == "encoder.pos_embed") {
            source = resizePositions(source, sizes.vit.specialTokens(), grid.height, grid.width,
                                     sizes.vit.gridHeight(), sizes.vit.gridWidth());
        }
        TORCH_CHECK(source.sizes() == entry.value().sizes(), entry.key(), " has shape ", source.sizes(),
                    ", expected ", entry.value().sizes());
        entry.value().copy_(source);
        taken.insert(entry.key());
        result.report.used.emplace_back(entry.key(), found->first);
    }
    for (const auto& [name, tensor] : tensors) {
        if (!taken.count(name)) result.report.leftOver.push_back(name);
    }
    result.model->eval();
    return result;
}

}  // namespace mpm::models
