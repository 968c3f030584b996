#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/printable.hpp"
#include "base/random.hpp"
#include "models/torch/commands/commands.hpp"
#include "models/torch/data/datasets.hpp"
#include "models/torch/model/policy.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "models/torch/train/evaluate.hpp"
#include "street/street.hpp"

namespace mpm::models {
namespace {

struct EvalArguments {
    std::string weights, root, dataset = "camvid", split = "val", policy;
    int64_t shared = 0;
    ReducerSettings reducer;
    bool night = false;
    int threads = 0, frames = 200;
};

void printScores(const Evaluation& result, const pipeline::Classes& classes) {
    const auto iou = result.confusion.iou();
    for (int id = 0; id < classes.count(); ++id)
        std::printf("%-12s %.4f\n", printable(classes.names[id], 100).c_str(), iou[id]);
    std::printf("mIoU %.4f  mAcc %.4f  aAcc %.4f\n", result.confusion.miou(), result.confusion.macc(),
                result.confusion.aacc());
    if (result.tokens.empty()) return;
    std::printf("tokens");
    for (double count : result.tokens)
        std::printf(" %.1f", count);
    std::printf("\n");
}

void runEval(const EvalArguments& a) {
    if (a.threads > 0) torch::set_num_threads(a.threads);
    auto model = loadModel(a.weights);
    model->encoder->setReducer(a.reducer);
    if (!a.policy.empty())
        model->setSharing(std::make_shared<Sharing>(Sharing{loadPolicy(a.policy), a.shared}));
    const auto classes = classesOf(a.dataset, a.root);
    if (classes.count() != model->options().classes)
        CV_Error(cv::Error::StsUnmatchedSizes, "the data has " + std::to_string(classes.count()) +
                                                   " classes, the model " +
                                                   std::to_string(model->options().classes));
    const bool scene = a.dataset == "scene";
    const auto stored = scene ? std::vector<pipeline::Sample>() : readAll(a.root, a.split, classes);
    const size_t count = scene ? static_cast<size_t>(a.frames) : stored.size();
    using Clock = std::chrono::steady_clock;
    auto next = Clock::now() + std::chrono::seconds(10);
    const auto sampleAt = [&](size_t i) {
        if (Clock::now() >= next) {
            std::fprintf(stderr, "%zu of %zu images\n", i, count);
            next = Clock::now() + std::chrono::minutes(1);
        }
        pipeline::Sample sample = scene ? sceneFrame(static_cast<int>(i), {640, 480}) : stored[i];
        if (a.night) sample.image = street::night(sample.image, {}, seedOf(sample.name));
        return sample;
    };
    printScores(evaluate(model, count, sampleAt, classes.ignored), classes);
}

}  // namespace

void addEval(CLI::App& app) {
    auto* verb = app.add_subcommand("eval", "mIoU of trained weights, by class");
    auto a = std::make_shared<EvalArguments>();
    verb->add_option("weights", a->weights, "best.pt or checkpoint.pt")->required()->check(CLI::ExistingFile);
    verb->add_option("--data", a->root, "folder with the split")->check(CLI::ExistingDirectory);
    verb->add_option("--dataset", a->dataset, "camvid, folder, or scene: the built-in street")
        ->capture_default_str();
    verb->add_option("--split", a->split)->capture_default_str();
    verb->add_option("--frames", a->frames, "frames of the built-in street")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    addReducerOptions(*verb, a->reducer, "--blocks");
    auto* policy = verb->add_option("--policy", a->policy, "policy by which superpatches share a token")
                       ->check(CLI::ExistingFile);
    verb->add_option("--share", a->shared, "superpatches that share a token")
        ->check(CLI::NonNegativeNumber)
        ->needs(policy);
    verb->add_flag("--night", a->night, "apply the night simulation");
    verb->add_option("--threads", a->threads)->capture_default_str();
    verb->callback([a] { runEval(*a); });
}

}  // namespace mpm::models
