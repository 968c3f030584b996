#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "models/torch/commands/commands.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/import/weights.hpp"
#include "models/torch/train/checkpoint.hpp"

namespace mpm::models {
namespace {

struct Arguments {
    std::string input, output, variant;
    std::vector<int64_t> size;
    ImportOptions options;
    bool quiet = false;
};

void print(const ImportReport& report, bool quiet) {
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

Imported importOf(const Arguments& a) {
    const NamedTensors tensors = readTensors(a.input);
    try {
        return importWeights(tensors, a.options);
    } catch (const c10::Error& problem) {
        throw FileError(printable(a.input) + ": " + printable(problem.what_without_backtrace()));
    }
}

void run(Arguments& a) {
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
    saveModel(a.output, imported.model);
    print(imported.report, a.quiet);
}

}  // namespace

void addImport(CLI::App& app) {
    auto* verb =
        app.add_subcommand("import", "weights of Segmenter, timm, DeiT (.pth, .safetensors) or JAX (.npz)");
    auto a = std::make_shared<Arguments>();
    verb->add_option("input", a->input, "file of weights")->required()->check(CLI::ExistingFile);
    verb->add_option("output", a->output, "weights in the form of mpm-models (.pt)")->required();
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
    verb->add_flag("--quiet", a->quiet, "print only missing and left-over tensors");
    verb->callback([a] { run(*a); });
}

}  // namespace mpm::models
