#include <memory>

#include <CLI/CLI.hpp>

#include "base/printable.hpp"
#include "models/torch/commands/commands.hpp"
#include "models/torch/data/datasets.hpp"
#include "models/torch/train/train.hpp"

namespace mpm::models {
namespace {

struct TrainArguments {
    TrainOptions options;
    std::string root, dataset = "camvid", variant = "vit-tiny/16", decoder = "mask", normalisation = "vit";
    std::vector<int> size{352, 480}, crop;
    std::vector<double> scale{0.6, 1.8};
    double dropPath = 0.1;
    bool distilled = false;
};

void addModelOptions(CLI::App& verb, TrainArguments& a) {
    verb.add_option("--variant", a.variant, "vit-tiny/16 ... vit-large/8")->capture_default_str();
    verb.add_option("--decoder", a.decoder,
                    "mask or linear; or boxes, for a detector: --data then has "
                    "train/ and val/ with annotations.json (COCO) and images/")
        ->capture_default_str();
    verb.add_flag("--distilled", a.distilled, "with DeiT's distillation token");
    verb.add_option("--normalisation", a.normalisation,
                    "mean and deviation of the images: vit (0.5) or deit (ImageNet's)")
        ->capture_default_str();
    verb.add_option("--size", a.size, "height and width of the model's input")
        ->expected(2)
        ->capture_default_str();
    verb.add_option("--drop-path", a.dropPath, "stochastic depth of the last block")->capture_default_str();
}

void addDataOptions(CLI::App& verb, TrainArguments& a) {
    verb.add_option("--data", a.root, "folder with train/ and val/")
        ->required()
        ->check(CLI::ExistingDirectory);
    verb.add_option("--dataset", a.dataset, "camvid, or folder (with classes.json)")->capture_default_str();
    verb.add_option("--crop", a.crop, "height and width of the crops; a detector learns whole images")
        ->expected(2)
        ->default_str("256 320");
    verb.add_option("--scale", a.scale, "lowest and highest scale; 1: images of the model's height")
        ->expected(2)
        ->capture_default_str();
    addBatchOptions(verb, a.options.data);
}

void addStepOptions(CLI::App& verb, TrainOptions& o) {
    const auto add = [&verb](const char* name, auto& value, const char* help) {
        verb.add_option(name, value, help)->check(CLI::Range(1, 1'000'000'000))->capture_default_str();
    };
    add("--parts", o.parts, "batches in a step; their gradients are averaged");
    add("--workers", o.workers, "parts that run in parallel");
    add("--validate-every", o.validateEvery, "steps between validations");
    add("--checkpoint-every", o.checkpointEvery, "steps between checkpoints");
}

void addLoopOptions(CLI::App& verb, TrainArguments& a) {
    auto& o = a.options;
    verb.add_option("--out", o.out,
                    "folder for checkpoint, best weights and curve; a run found there continues")
        ->required();
    verb.add_option("--steps", o.steps, "most steps; with --minutes alone there is no limit")
        ->default_str(std::to_string(TrainOptions::kUsualSteps));
    verb.add_option("--warm-up", o.warmUp, "steps in which the learning rate rises linearly")
        ->capture_default_str();
    verb.add_option("--minutes", o.minutes, "end after this time, validation included; the rate follows it")
        ->capture_default_str();
    verb.add_option("--from", o.from, "weights to start from (.pt)")->check(CLI::ExistingFile);
    auto* teacher =
        verb.add_option(
                "--teacher", o.teacher,
                "weights (.pt) of a model, often a larger one, whose classes are learned beside the labels")
            ->check(CLI::ExistingFile);
    verb.add_option("--teacher-share", o.teacherShare, "weight of the teacher beside the labels")
        ->needs(teacher)
        ->capture_default_str();
    auto* neighbours =
        verb.add_option("--neighbours", o.neighbourBlocks,
                        "blocks, such as 2,5, whose tokens learn to be nearest to tokens of the same "
                        "classes, so that merging there costs less")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber);
    verb.add_option("--neighbour-share", o.neighbourShare, "weight of this loss beside the labels")
        ->needs(neighbours)
        ->capture_default_str();
    auto* policy = verb.add_option("--policy", o.policy,
                                   "policy (of 'mpm-models policy') by which superpatches share a token")
                       ->check(CLI::ExistingFile);
    auto* share = verb.add_option("--share", o.shared,
                                  "superpatches of 2x2 patches that share a token, at the model's size; the "
                                  "same share of them in crops")
                      ->check(CLI::NonNegativeNumber)
                      ->needs(policy);
    policy->needs(share);
    verb.add_option("--rate", o.optimiser.rate, "highest learning rate of AdamW")->capture_default_str();
    verb.add_option("--matrix-rate", o.optimiser.matrixRate,
                    "learning rate of Muon, for matrices inside blocks; 0: AdamW for these too")
        ->capture_default_str();
    verb.add_option("--decay", o.optimiser.decay, "weight decay")->capture_default_str();
    verb.add_option("--overlap", o.overlap, "share of the Lovasz loss beside cross entropy")
        ->capture_default_str();
    verb.add_option("--mean-decay", o.meanDecay, "decay of the running mean of the weights")
        ->capture_default_str();
    verb.add_option("--class-power", o.classPower,
                    "0: all classes have the same weight; 1: weight by inverse frequency")
        ->capture_default_str();
    verb.add_option("--class-limit", o.classLimit, "highest class weight before scaling")
        ->capture_default_str();
    addStepOptions(verb, o);
    addReducerOptions(verb, o.reducer, "--train-blocks");
    verb.add_flag("!--full-precision", o.mixed, "no bf16 products");
}

void runTrain(TrainArguments& a) {
    const bool detects = a.decoder == "boxes";
    auto boxes = detects ? readBoxImages(a.root, "train") : BoxImages();
    const auto classes = detects ? pipeline::Classes() : classesOf(a.dataset, a.root);
    // The position embedding is stretched over a crop, so a detector would learn wrong sizes from crops.
    if (detects && !a.crop.empty() && a.crop != a.size)
        CV_Error(cv::Error::StsBadArg, "a detector learns whole images: --crop must be --size");
    if (a.crop.empty()) a.crop = detects ? a.size : std::vector<int>{256, 320};
    auto& o = a.options;
    o.model = SegmenterOptions::variant(a.variant);
    o.model.vit.height = a.size[0];
    o.model.vit.width = a.size[1];
    o.model.vit.dropPath = a.dropPath;
    o.model.vit.distilled = a.distilled;
    o.model.normalisation = Normalisation::named(a.normalisation);
    o.optimiser.workers = o.workers;
    o.model.decoder = a.decoder;
    o.model.classes = detects ? static_cast<int64_t>(boxes.names.size()) : classes.count();
    setSizes(o.data, a.size, a.crop, a.scale);
    TrainData data;
    if (detects) {
        data.boxes = std::move(boxes.images);
        BoxImages val = readBoxImages(a.root, "val");
        if (val.names != boxes.names)
            CV_Error(cv::Error::StsBadArg, printable(a.root) + ": train and val list other categories");
        data.validationBoxes = std::move(val.images);
    } else {
        if (o.data.scene > 0 && classes.names != pipeline::camvidClasses().names)
            CV_Error(cv::Error::StsBadArg,
                     "--scene: the built-in street has the classes of CamVid, which this data set has not");
        data.train = readAll(a.root, "train", classes);
        data.validation = readAll(a.root, "val", classes);
        data.ignored = classes.ignored;
    }
    train(o, data);
}

}  // namespace

void addTrain(CLI::App& app) {
    auto* verb = app.add_subcommand("train", "train a Segmenter, or continue a run that was stopped");
    auto arguments = std::make_shared<TrainArguments>();
    addModelOptions(*verb, *arguments);
    addDataOptions(*verb, *arguments);
    addLoopOptions(*verb, *arguments);
    verb->callback([arguments] { runTrain(*arguments); });
}

}  // namespace mpm::models
