#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/checked.hpp"
#include "models/torch/commands/commands.hpp"
#include "models/torch/data/datasets.hpp"
#include "models/torch/train/policy.hpp"

namespace mpm::models {
namespace {

struct PolicyArguments {
    PolicyTrainOptions options;
    std::string root, dataset = "camvid", normalisation = "vit";
    std::vector<int> size{480, 640}, crop{320, 416};
    std::vector<double> scale{0.7, 1.4};
    int threads = 0;
};

void runPolicy(PolicyArguments& a) {
    if (a.threads > 0) torch::set_num_threads(a.threads);
    const auto classes = classesOf(a.dataset, a.root);
    auto& o = a.options;
    o.height = a.size[0];
    o.width = a.size[1];
    o.data.labelStride = 1;
    o.data.normalisation = Normalisation::named(a.normalisation);
    setSizes(o.data, a.size, a.crop, a.scale);
    const auto score =
        trainPolicy(o, readAll(a.root, "train", classes), readAll(a.root, "val", classes), classes.ignored);
    std::printf(
        "%s: accuracy %.4f, precision %.4f and recall %.4f at %lld of %lld superpatches\n", o.out.c_str(),
        score.accuracy, score.precision, score.recall, static_cast<long long>(o.shared),
        static_cast<long long>(checkedProduct<int64_t>(o.height / kSuperpatch, o.width / kSuperpatch)));
}

}  // namespace

void addPolicy(CLI::App& app) {
    auto* verb = app.add_subcommand(
        "policy", "train the policy of token sharing: where do four patches show a single class?");
    auto a = std::make_shared<PolicyArguments>();
    auto& o = a->options;
    o.data.batch = 8;
    o.data.scene = 0.4;
    verb->add_option("--data", a->root, "folder with train/ and val/")
        ->required()
        ->check(CLI::ExistingDirectory);
    verb->add_option("--dataset", a->dataset, "camvid, or folder (with classes.json)")->capture_default_str();
    verb->add_option("--out", o.out, "file for the policy with the best recall")->required();
    verb->add_flag("--ignored-border", o.ignoredBorder,
                   "the data set does not label the border of its images, as ADE20K");
    verb->add_option("--size", a->size, "height and width of the model's input")
        ->expected(2)
        ->capture_default_str();
    verb->add_option("--crop", a->crop, "height and width of the crops, multiples of 32")
        ->expected(2)
        ->capture_default_str();
    verb->add_option("--scale", a->scale, "lowest and highest scale; 1: images of the model's height")
        ->expected(2)
        ->capture_default_str();
    verb->add_option("--normalisation", a->normalisation, "mean and deviation of the images: vit or deit")
        ->capture_default_str();
    addBatchOptions(*verb, o.data);
    verb->add_option("--from", o.from, "a policy to start from")->check(CLI::ExistingFile);
    verb->add_option("--steps", o.steps,
                     "most steps; with --minutes alone there is no limit, with 0 and --from the policy is "
                     "only measured")
        ->check(CLI::NonNegativeNumber)
        ->default_str(std::to_string(PolicyTrainOptions::kUsualSteps));
    verb->add_option("--minutes", o.minutes, "stop after this time; the learning rate follows it")
        ->capture_default_str();
    verb->add_option("--warm-up", o.warmUp, "steps in which the learning rate rises linearly")
        ->capture_default_str();
    verb->add_option("--rate", o.rate, "highest learning rate of AdamW")->capture_default_str();
    verb->add_option("--decay", o.decay, "weight decay")->capture_default_str();
    verb->add_option("--mean-decay", o.meanDecay, "decay of the running mean of the weights")
        ->capture_default_str();
    verb->add_option("--share", o.shared, "superpatches at which recall is measured")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    verb->add_option("--validate-every", o.validateEvery, "steps between validations")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    verb->add_option("--threads", a->threads)->capture_default_str();
    verb->callback([a] { runPolicy(*a); });
}

}  // namespace mpm::models
