#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "models/torch/commands/commands.hpp"
#include "models/torch/data/datasets.hpp"
#include "models/torch/export/onnx.hpp"
#include "models/torch/train/checkpoint.hpp"

namespace mpm::models {
namespace {

struct ExportArguments {
    std::string weights, output, dataset = "camvid", root, policy;
    int64_t shared = 0;
    int batch = 1;
    bool fused = false;
    std::vector<int> blocks{2, 5};
};

void runExport(const ExportArguments& a) {
    auto model = loadModel(a.weights);
    const auto classes = classesOf(a.dataset, a.root);
    const auto written = [&] {
        if (!a.policy.empty())
            return exportSharing(model, std::make_shared<Sharing>(Sharing{loadPolicy(a.policy), a.shared}),
                                 classes, a.output, a.batch);
        return a.fused ? exportFused(model, classes, a.blocks, a.output)
                       : exportStandard(model, classes, a.output);
    };
    const double difference = written();
    std::fprintf(stderr, "%s: largest difference to LibTorch %.2e\n", a.output.c_str(), difference);
}

}  // namespace

void addExport(CLI::App& app) {
    auto* verb = app.add_subcommand("export", "write trained weights as ONNX, checked against LibTorch");
    auto a = std::make_shared<ExportArguments>();
    verb->add_option("weights", a->weights, "best.pt or checkpoint.pt")->required()->check(CLI::ExistingFile);
    verb->add_option("output", a->output, "ONNX file")->required();
    verb->add_option("--dataset", a->dataset,
                     "classes: camvid, ade20k, cityscapes, pascal-context, folder, or boxes")
        ->capture_default_str();
    verb->add_option("--data", a->root,
                     "folder with classes.json, for --dataset folder; or with train/annotations.json or "
                     "val/annotations.json, for boxes");
    auto* fused = verb->add_flag("--fused", a->fused,
                                 "the form that OpenCV runs with merging, instead of standard operators");
    verb->add_option("--blocks", a->blocks, "default schedule of the fused form")
        ->delimiter(',')
        ->needs(fused)
        ->capture_default_str();
    auto* policy = verb->add_option("--policy", a->policy,
                                    "with this policy in the file: superpatches share a token (fused form)")
                       ->check(CLI::ExistingFile)
                       ->excludes("--blocks");
    auto* share = verb->add_option("--share", a->shared, "superpatches of 2x2 patches that share a token")
                      ->check(CLI::NonNegativeNumber)
                      ->needs(policy);
    policy->needs(share);
    verb->add_option("--batch", a->batch, "images in a batch")
        ->check(CLI::Range(1, 1024))
        ->needs(policy)
        ->capture_default_str();
    verb->callback([a] { runExport(*a); });
}

}  // namespace mpm::models
