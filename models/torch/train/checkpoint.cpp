#include "models/torch/train/checkpoint.hpp"

#include "base/checked.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/model/named_tensors.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;

class Parts {
public:
    void add(const std::string& name, const torch::Tensor& tensor) {
        const auto data = tensor.detach().to(torch::kCPU).contiguous();
        const bool isFloat = data.scalar_type() == torch::kFloat32;
        TORCH_CHECK(isFloat || data.scalar_type() == torch::kInt64, "checkpoints hold f32 and i64");
        const auto bytes = checkedProduct<std::size_t>(data.numel(), data.element_size());
        m_tensors.push_back({name,
                             isFloat ? Element::F32 : Element::I64,
                             data.sizes().vec(),
                             {static_cast<const char*>(data.data_ptr()), bytes}});
        m_kept.push_back(data);
    }
    void add(const std::string& prefix, const Segmenter& model) {
        for (const auto& entry : model->named_parameters())
            add(prefix + entry.key(), entry.value());
    }

    void write(const std::string& path, const Segmenter& model, const Progress* progress) const {
        PendingFile file(path, Access::Umask);
        writeCheckpoint(file, model->options().toJson(), progress, m_tensors);
        file.keep();
    }

private:
    std::vector<DenseTensor> m_tensors;
    std::vector<torch::Tensor> m_kept;
};

void readPart(const CheckpointFile& file, const std::string& prefix, Segmenter& model) {
    const torch::NoGradGuard noGrad;
    for (auto& entry : model->named_parameters()) {
        const auto found = file.tensors.find(prefix + entry.key());
        demand(found != file.tensors.end(), "the checkpoint lacks ", prefix, entry.key());
        const auto& shape = found->second.shape;
        demand(entry.value().sizes() == torch::IntArrayRef(shape), prefix, entry.key(),
               " has a shape that does not fit the checkpoint's sizes");
        entry.value().copy_(toTorch(found->second));
    }
}

Optimiser::State optimiserState(const CheckpointFile& file) {
    const std::string prefix = "optimiser.";
    Optimiser::State state;
    for (const auto& [name, tensor] : file.tensors) {
        if (name.compare(0, prefix.size(), prefix) == 0) state[name.substr(prefix.size())] = toTorch(tensor);
    }
    return state;
}

/// Throws if the file has too few weights for these sizes. Called before the model is made, because a model
/// of wrong sizes could take far more memory than the file.
void checkTensorCount(const SegmenterOptions& options, const CheckpointFile& file) {
    const auto& vit = options.vit;
    const auto depth = vit.depth + (options.decoder == "mask" ? options.decoderDepth : 0);
    const auto blocks = checkedProduct<std::int64_t>(12, depth, vit.dim, vit.dim);
    const auto rows = checkedProduct<std::int64_t>(vit.gridHeight(), vit.gridWidth()) + options.classes;
    const auto around =
        checkedProduct<std::int64_t>(rows + checkedProduct<std::int64_t>(3, vit.patch, vit.patch), vit.dim);
    std::int64_t held = 0;
    for (const auto& [name, tensor] : file.tensors) {
        if (name.compare(0, 5, "mean.") == 0) held += tensor.count();
    }
    demand(held >= blocks + around, "the checkpoint holds fewer weights than its sizes need");
}

/// Returns the options as text, without stochastic depth. Weights of two models may be averaged if their
/// texts are equal.
std::string kindOf(SegmenterOptions options) {
    options.vit.dropPath = 0;
    return options.toJson();
}

SegmenterOptions optionsOf(const CheckpointFile& file) {
    const auto options = SegmenterOptions::fromJson(file.options);
    checkTensorCount(options, file);
    return options;
}

}  // namespace

void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress) {
    Parts parts;
    parts.add("model.", model);
    parts.add("mean.", mean);
    for (const auto& [name, tensor] : optimiser.state())
        parts.add("optimiser." + name, tensor);
    parts.write(path, model, &progress);
}

Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser) {
    return fromFile(path, kMostBytes, [&](const std::string& bytes) {
        const CheckpointFile file = parseCheckpoint(bytes);
        demand(file.hasProgress, "holds weights only, so no run can continue from it");
        const std::string options = optionsOf(file).toJson();
        demand(options == model->options().toJson(), "holds another model: ", printable(options));
        readPart(file, "model.", model);
        readPart(file, "mean.", mean);
        optimiser.restore(optimiserState(file));
        return file.progress;
    });
}

Segmenter loadModel(const std::string& path) {
    return fromFile(path, kMostBytes, [](const std::string& bytes) {
        const CheckpointFile file = parseCheckpoint(bytes);
        Segmenter model(optionsOf(file));
        readPart(file, "mean.", model);
        model->eval();
        return model;
    });
}

Segmenter loadMean(const std::vector<std::string>& paths) {
    TORCH_CHECK(!paths.empty(), "no weights to take the mean of");
    const torch::NoGradGuard noGrad;
    auto model = loadModel(paths[0]);
    for (size_t i = 1; i < paths.size(); ++i) {
        const Segmenter next = loadModel(paths[i]);
        TORCH_CHECK(kindOf(next->options()) == kindOf(model->options()), paths[i],
                    " is of another variant, size or normalisation than ", paths[0],
                    "; take the mean of weights that were trained from one another");
        const auto other = next->named_parameters();
        for (auto& entry : model->named_parameters())
            entry.value().add_(other[entry.key()] - entry.value(), 1.0 / static_cast<double>(i + 1));
    }
    return model;
}

void saveModel(const std::string& path, Segmenter& model) {
    Parts parts;
    parts.add("mean.", model);
    parts.write(path, model, nullptr);
}

}  // namespace mpm::models
