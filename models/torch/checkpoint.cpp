#include "models/torch/checkpoint.hpp"

#include <filesystem>

namespace mpm::models {
namespace {

constexpr const char* kFormat = "mpm-models 1";

template <typename Part>
void writePart(torch::serialize::OutputArchive& archive, const std::string& name, const Part& part) {
    torch::serialize::OutputArchive inner(archive.compilation_unit());
    part.save(inner);
    archive.write(name, inner);
}

template <typename Part>
void readPart(torch::serialize::InputArchive& archive, const std::string& name, Part& part) {
    torch::serialize::InputArchive inner;
    TORCH_CHECK(archive.try_read(name, inner), "checkpoint has no ", name);
    part.load(inner);
}

std::string readText(torch::serialize::InputArchive& archive, const std::string& name) {
    c10::IValue value;
    TORCH_CHECK(archive.try_read(name, value) && value.isString(), "checkpoint has no text ", name);
    return value.toStringRef();
}

void writeHeader(torch::serialize::OutputArchive& archive, const Segmenter& model) {
    archive.write("format", c10::IValue(std::string(kFormat)));
    archive.write("options", c10::IValue(model->options().toJson()));
}

torch::serialize::InputArchive openArchive(const std::string& path) {
    TORCH_CHECK(std::filesystem::exists(path), path, " does not exist");
    torch::serialize::InputArchive archive;
    archive.load_from(path);
    TORCH_CHECK(readText(archive, "format") == kFormat, path, " is not a checkpoint of mpm-models");
    return archive;
}

void writeAtomically(torch::serialize::OutputArchive& archive, const std::string& path) {
    const std::string temporary = path + ".tmp";
    archive.save_to(temporary);
    std::filesystem::rename(temporary, path);
}

}  // namespace

void saveCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser,
                    const Progress& progress) {
    torch::serialize::OutputArchive archive;
    writeHeader(archive, model);
    writePart(archive, "model", *model);
    writePart(archive, "mean", *mean);
    writePart(archive, "optimiser", optimiser);
    archive.write("step", c10::IValue(progress.step));
    archive.write("images", c10::IValue(progress.images));
    archive.write("best", c10::IValue(progress.best));
    archive.write("seconds", c10::IValue(progress.seconds));
    writeAtomically(archive, path);
}

Progress loadCheckpoint(const std::string& path, Segmenter& model, Segmenter& mean, Optimiser& optimiser) {
    auto archive = openArchive(path);
    const auto options = SegmenterOptions::fromJson(readText(archive, "options"));
    TORCH_CHECK(options.toJson() == model->options().toJson(), path,
                " holds another model: ", options.toJson());
    readPart(archive, "model", *model);
    readPart(archive, "mean", *mean);
    readPart(archive, "optimiser", optimiser);
    Progress progress;
    c10::IValue value;
    archive.read("step", value);
    progress.step = value.toInt();
    archive.read("images", value);
    progress.images = value.toInt();
    archive.read("best", value);
    progress.best = value.toDouble();
    archive.read("seconds", value);
    progress.seconds = value.toDouble();
    return progress;
}

Segmenter loadModel(const std::string& path) {
    auto archive = openArchive(path);
    Segmenter model(SegmenterOptions::fromJson(readText(archive, "options")));
    readPart(archive, "mean", *model);
    model->eval();
    return model;
}

Segmenter loadMean(const std::vector<std::string>& paths) {
    TORCH_CHECK(!paths.empty(), "no weights to take the mean of");
    const torch::NoGradGuard noGrad;
    auto model = loadModel(paths[0]);
    for (size_t i = 1; i < paths.size(); ++i) {
        const auto other = loadModel(paths[i])->named_parameters();
        for (auto& entry : model->named_parameters()) {
            const auto* weight = other.find(entry.key());
            TORCH_CHECK(weight && weight->sizes() == entry.value().sizes() &&
                            other.size() == model->named_parameters().size(),
                        paths[i], " is of another variant than ", paths[0]);
            entry.value().add_(*weight - entry.value(), 1.0 / static_cast<double>(i + 1));
        }
    }
    return model;
}

void saveModel(const std::string& path, Segmenter& model) {
    torch::serialize::OutputArchive archive;
    writeHeader(archive, model);
    writePart(archive, "mean", *model);
    writeAtomically(archive, path);
}

}  // namespace mpm::models
