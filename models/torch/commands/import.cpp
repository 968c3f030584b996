#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "models/torch/commands/commands.hpp"
#include "models/torch/export/onnx.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/import/weights.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "pipeline/dataset/classes.hpp"

namespace mpm::models {
namespace {

struct ImportArguments {
    std::string input, output, variant, classesOf;
    std::vector<int> blocks;  ///< empty: 2 and 5, if these blocks exist
    std::vector<int64_t> size;
    ImportOptions options;
    bool quiet = false;
};

void printReport(const ImportReport& report, bool quiet) {
    for (const auto& [here, there] : report.used) {
        if (!quiet) std::printf("used      %s <- %s\n", nameOf(here).c_str(), nameOf(there).c_str());
    }
    for (const auto& name : report.missing)
        std::printf("missing   %s\n", nameOf(name).c_str());
    for (const auto& name : report.leftOver)
        std::printf("left over %s\n", nameOf(name).c_str());
    std::printf("%zu used, %zu missing, %zu left over\n", report.used.size(), report.missing.size(),
                report.leftOver.size());
}

bool isOnnx(const std::string& path) {
    return std::filesystem::path(path).extension() == ".onnx";
}

Imported importOf(const ImportArguments& a) {
    ImportOptions options = a.options;
    NamedTensors tensors;
    if (isOnnx(a.input)) {
        auto exported = readExported(a.input);
        tensors = std::move(exported.tensors);
        options.variant.heads = exported.heads;
        options.variant.height = exported.height;
        options.variant.width = exported.width;
        options.variant.normalisation = exported.normalisation;
        if (!options.height) {
            options.height = exported.height;
            options.width = exported.width;
        }
    } else {
        tensors = readTensors(a.input);
    }
    try {
        return importWeights(tensors, options);
    } catch (const cv::Exception& problem) {
        throw FileError(printable(a.input) + ": " + printable(problem.err));
    } catch (const c10::Error& problem) {
        throw FileError(printable(a.input) + ": " + printable(problem.what_without_backtrace()));
    }
}

/// Returns the classes' names and colours, from --classes-of, else from the data set of variant.yml.
pipeline::Classes classesFor(const ImportArguments& a, int count) {
    const std::string& dataset = a.classesOf.empty() ? a.options.variant.dataset : a.classesOf;
    if (const auto classes = pipeline::builtInClasses(dataset, count)) return *classes;
    if (!a.classesOf.empty()) return pipeline::readClasses(a.classesOf);
    throw FileError(printable(a.input) +
                    ": the file does not name its data set; name it with --classes-of (" +
                    "ade20k, cityscapes, pascal-context, camvid, or a JSON file of names and colours)");
}

void writeOnnx(const ImportArguments& a, Imported& imported) {
    if (!imported.report.missing.empty())
        throw FileError(printable(a.input) + ": has no weights for " +
                        nameOf(imported.report.missing.front()) +
                        "; an ONNX file needs all of them, decoder included");
    const auto count = static_cast<int>(imported.model->options().classes);
    const pipeline::Classes classes = classesFor(a, count);
    if (classes.count() != count)
        throw FileError(printable(a.input) + ": the model has " + std::to_string(count) +
                        " classes, the data set " + std::to_string(classes.count()) +
                        "; name the right one with --classes-of");
    std::vector<int> blocks = a.blocks;
    for (const int block : {2, 5})
        if (a.blocks.empty() && block < imported.model->options().vit.depth) blocks.push_back(block);
    const double difference = exportFused(imported.model, classes, blocks, a.output);
    std::printf("%s: largest difference to LibTorch %.2e\n", printable(a.output).c_str(), difference);
}

void runImport(ImportArguments& a) {
    if (a.size.size() == 2) {
        a.options.height = a.size[0];
        a.options.width = a.size[1];
    }
    const auto beside = std::filesystem::path(a.input).replace_filename("variant.yml");
    if (!a.variant.empty() || std::filesystem::exists(beside)) {
        const std::string file = a.variant.empty() ? beside.string() : a.variant;
        a.options.variant = readVariant(file);
        std::printf("sizes     from %s\n", printable(file).c_str());
    }
    auto imported = importOf(a);
    const bool onnx = isOnnx(a.output);
    if (!onnx) saveModel(a.output, imported.model);
    printReport(imported.report, a.quiet);
    if (onnx) writeOnnx(a, imported);
}

}  // namespace

void addImport(CLI::App& app) {
    auto* verb =
        app.add_subcommand("import",
                           "weights of Segmenter, timm, DeiT (.pth, .safetensors), JAX (.npz), or of 'export "
                           "--fused' (.onnx)");
    auto a = std::make_shared<ImportArguments>();
    verb->add_option("input", a->input, "file of weights")->required()->check(CLI::ExistingFile);
    verb->add_option("output", a->output,
                     "an ONNX file for OpenCV, with merging (.onnx), or weights for mpm-models (.pt)")
        ->required();
    verb->add_option("--size", a->size, "height and width of the model; positions are resized")->expected(2);
    verb->add_option("--source-rows", a->options.sourceGridHeight,
                     "rows of the file's patch grid, if it is not square");
    verb->add_option("--variant", a->variant, "Segmenter's variant.yml (default: the one beside the file)")
        ->check(CLI::ExistingFile);
    verb->add_option("--normalisation", a->options.normalisation,
                     "mean and deviation of the images: vit (0.5) or deit (ImageNet's); default: that of "
                     "variant.yml, else vit");
    verb->add_option("--classes", a->options.classes, "number of classes, for a file without a decoder")
        ->capture_default_str();
    verb->add_option(
        "--classes-of", a->classesOf,
        "names and colours of the ONNX file: ade20k, cityscapes, pascal-context, camvid, or a JSON "
        "file (default: the data set of variant.yml)");
    verb->add_option("--blocks", a->blocks, "schedule of the ONNX file (default: 2,5)")->delimiter(',');
    verb->add_flag("--quiet", a->quiet, "print only missing and left-over tensors");
    verb->callback([a] { runImport(*a); });
}

}  // namespace mpm::models
