// mpm eval: accuracy and cost of methods on a labelled data set.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/network.hpp"
#include "cli/common/options.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "cli/eval/options.hpp"
#include "cli/eval/report.hpp"
#include "models/onnx/io/read.hpp"
#include "pipeline/measure/counts_file.hpp"
#include "pipeline/measure/detector/evaluation.hpp"
#include "pipeline/measure/evaluation.hpp"
#include "pipeline/report/report.hpp"
#include "pipeline/segment/names.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

constexpr const char* kEvalExamples = R"(Examples:
  mpm eval default --dataset camvid --root CamVid
  mpm eval model.onnx --dataset ade20k --root ADEChallengeData2016 --compare none,mpm:2+5,mpm:5 --json ade.json
  mpm eval model.onnx --dataset folder --root mine --split test --save-labels out
  mpm eval default --dataset camvid --root CamVid --compare none,mpm --night --paired --plots plots
  mpm eval default --dataset folder --root clip --compare none,mpm,reuse                    frames of one camera, in order
  mpm eval model.onnx --dataset ade20k --root ADE --shard 1/4 --counts 1.counts     (2/4, 3/4, 4/4 elsewhere)
  mpm eval detector.onnx --dataset coco --root val2017 --annotations instances_val2017.json --compare none,mpm
  mpm eval --dataset coco --annotations instances_val2017.json --results detections.json
  mpm eval --dataset mot --truth gt --results tracks --json mot.json
  mpm eval --join 1.counts 2.counts 3.counts 4.counts --json ade.json

Layouts: camvid and folder read ROOT/SPLIT/images and ROOT/SPLIT/labels (folder: ROOT/classes.json too); ade20k reads
ROOT/images/validation and ROOT/annotations/validation; cityscapes ROOT/leftImg8bit and ROOT/gtFine; pascal-context
ROOT/JPEGImages, SegmentationClassContext and ImageSets/SegmentationContext.
Exit status 1 if images could not be used: they are named and left out.)";

/// Returns the folder of a setting's labels. If there are several settings, each has a separate folder.
std::string labelsFolder(const EvalOptions& options, const pipeline::Setting& setting, size_t settings) {
    if (settings < 2) return options.saveLabels;
    const pipeline::EvalRequest& request = options.request;
    // Uses the method's name as the user wrote it. If the user wrote "mpm" for the merging of the model file,
    // `text` has the name of the model's method instead, such as "gentle".
    const bool own = setting.method.isOwn() && !setting.method.reuses();
    std::string name = own ? setting.method.shortName() : setting.method.text;
    if (request.precisions.size() > 1) name += "-" + pipeline::precisionName(setting.precision);
    if (request.batches.size() > 1) name += "-batch" + std::to_string(setting.batch);
    if (setting.night && (request.paired || request.nights.size() > 1))
        name += cv::format("-night%g,%g,%g", setting.night->luminance, setting.night->photons,
                           setting.night->deviation);
    std::replace(name.begin(), name.end(), '/', '_');
    return (fs::path(options.saveLabels) / name).string();
}

pipeline::EvalCounts evaluate(const EvalOptions& options) {
    pipeline::EvalNetworks networks([&](Precision precision) { return openFor(options, precision); },
                                    options.request);
    const pipeline::Network& any = networks.any();
    pipeline::Evaluation evaluation(options.request, networks, modelCost(any),
                                    any.random() ? "random" : models::sha256OfFile(any.name()));
    const size_t settings = evaluation.settings().size();
    pipeline::Evaluation::LabelsSink save;
    if (!options.saveLabels.empty()) {
        for (const pipeline::Setting& setting : evaluation.settings())
            makeFolder(labelsFolder(options, setting, settings));
        const auto fileOf = [&](const pipeline::Setting& setting, const std::string& name) {
            return (fs::path(labelsFolder(options, setting, settings)) / (name + ".png")).string();
        };
        save.write = [=](const pipeline::Setting& setting, const std::string& name, const cv::Mat& labels) {
            writeImage(fileOf(setting, name), labels);
        };
        save.has = [=](const pipeline::Setting& setting, const std::string& name) {
            return fs::exists(fileOf(setting, name));
        };
    }
    catchStopSignals();
    return evaluation.run(watchOnTerminal("image"), save);
}

pipeline::EvalCounts measure(const EvalOptions& options) {
    for (const std::string& path : {options.json, options.csv})
        if (!path.empty()) checkWritable(path);
    if (!options.plots.empty()) makeFolder(options.plots);
    return options.join.empty() ? evaluate(options) : pipeline::joinCounts(options.join);
}

/// Reads the root of the data set from the file of --source-from, if this option is given.
void readRoot(EvalOptions& options) {
    if (options.sourceFrom.empty()) return;
    const std::vector<pipeline::Address> sources = sourcesFrom({}, options.sourceFrom);
    if (sources.size() != 1 || !options.request.root.empty())
        throw Error(kWrongUse,
                    "--source-from: eval reads one data set; name its folder once, there or with --root");
    options.request.root = sources[0].reveal();
}

void write(const EvalOptions& options, const pipeline::EvalSummary& summary) {
    printShard(options.request.shard);
    std::cout << resultTable(summary) << '\n' << classTable(summary) << '\n' << regionTable(summary);
    for (const std::string& table : {pairTable(summary), tuningTable(summary), reuseSummary(summary)})
        if (!table.empty()) std::cout << '\n' << table;
    if (!options.json.empty()) writeJson(options.json, pipeline::evalJson(summary));
    if (!options.csv.empty()) writeBytes(options.csv, evalCsv(summary));
    if (!options.plots.empty()) writePlots(options.plots, summary);
}

/// Prints the number of images that could not be used, and the first few names.
void printLeftOut(const std::vector<std::string>& names) {
    constexpr size_t kNamed = 10;
    std::string line = std::to_string(names.size()) + " images could not be used and were left out: ";
    for (size_t i = 0; i < names.size() && i < kNamed; ++i)
        line += (i > 0 ? ", " : "") + names[i];
    printError(line + (names.size() > kNamed ? ", ..." : ""));
}

int eval(EvalOptions options) {
    readRoot(options);
    addReuse(options.common, options.request.methods);
    if (!options.common.precision) options.request.precisions = {usualPrecision()};
    checkUsage(options);
    limitMemory(options.common.maxMemory);
    if (scoresFiles(options)) return scoreFiles(options);
    if (options.request.dataset == "coco" ||
        (!options.join.empty() && pipeline::areCounts(options.join[0], pipeline::kDetectionCounts)))
        return evalDetector(options);
    const pipeline::EvalSummary summary(measure(options));
    if (summary.names.empty() && summary.leftOut.empty() && options.request.shard) return reportEmptyShard();
    if (summary.names.empty())
        throw Error(kBadInput, (options.join.empty() ? "--root " + options.request.root : "--join") +
                                   ": none of the images can be used");
    write(options, summary);
    if (summary.leftOut.empty()) return kDone;
    printLeftOut(summary.leftOut);
    return kFailed;
}

void addMeasuring(CLI::App& verb, EvalOptions& o) {
    verb.add_option("MODEL", o.model, "an ONNX model of 'mpm convert', default, or random (weights)");
    verb.add_option("--dataset", o.request.dataset, "layout of the data set")
        ->type_name("camvid|ade20k|cityscapes|pascal-context|folder|coco|mot");
    verb.add_option("--root", o.request.root, "root folder of the data set")->type_name("DIR");
    addSourceFrom(verb, o.sourceFrom);
    verb.add_option("--split", o.request.split, "part of it (default: val)")->type_name("NAME");
    addParsed(verb, "--batch", "windows in a forward (default: 1)", "1,32", o.request.batches, parseCounts,
              1);
    addParsed(verb, "--compare",
              "methods (default: the model's own); singles and pairs: a merge before each "
              "block, and before each two blocks",
              "none,mpm:2+5,tome:r=13", o.request.methods, parseMethods);
    addSizeOption(verb, o.size);
    addParsed(verb, "--limit", "only the first N images", "N", o.request.limit, parseCount, 1, INT_MAX);
    addNightOptions(verb, o.request.nights);
    verb.add_flag("--paired", o.request.paired, "with --night: evaluate the same images by day, too");
    addCommonOptions(verb, o.common, true, false);
    addMemoryOption(verb, o.common);
    addReuseOption(verb, o.common);
    addParsed(
        verb, "--precision",
        "of the encoder's products, several with commas (default: MPM_PRECISION, else f32)", "f32,bf16",
        [&o](const std::string& text) {
            o.request.precisions.clear();
            for (const std::string& part : splitList(text))
                o.request.precisions.push_back(*(o.common.precision = parsePrecision("--precision", part)));
        });
}

void addFiles(CLI::App& verb, EvalOptions& o) {
    verb.add_option("--annotations", o.annotations, "coco: the file of annotations")->type_name("FILE");
    verb.add_option(
            "--save-detections", o.saveDetections,
            "coco: write the detections of the first method in COCO's result format (with --iou segm masks)")
        ->type_name("FILE");
    verb.add_option("--results", o.results,
                    "no MODEL: scores a file of detections (coco) or tracks (mot; or a folder of them)")
        ->type_name("FILE");
    verb.add_option("--truth", o.truth, "mot: the true tracks, a file or a folder with the same names")
        ->type_name("FILE");
    addParsed(verb, "--frames", "mot: frames of a sequence (default: the last that a file names)", "N",
              o.frames, parseCount, 1, INT_MAX);
    addParsed(verb, "--iou", "coco: overlap of boxes or of masks (default: bbox)", "bbox|segm",
              [&o](const std::string& text) {
                  if (text != "bbox" && text != "segm")
                      throw Error(kWrongUse, "--iou: \"" + text + "\" is unknown; write bbox or segm");
                  o.iou = text;
              });
}

void addWriting(CLI::App& verb, EvalOptions& o) {
    verb.add_option("--json", o.json, "write the results as JSON too")->type_name("FILE");
    verb.add_option("--csv", o.csv, "write the table as CSV too")->type_name("FILE");
    verb.add_option("--plots", o.plots, "draw all figures that the results allow, as SVG and PNG")
        ->type_name("DIR");
    verb.add_option("--save-labels", o.saveLabels,
                    "write STEM.png of ids; a folder for each row if there are several")
        ->type_name("DIR");
    verb.add_option("--counts", o.request.countsFile,
                    "write every image's counts and every batch's times; a run that was "
                    "killed continues from there")
        ->type_name("FILE");
    addParsed(verb, "--shard", "only the i-th of n parts (from 1)", "i/n", o.request.shard, parseShard);
    verb.add_option("--join", o.join, "no MODEL: the shards' --counts files as one result")
        ->type_name("FILES");
}

}  // namespace

pipeline::Network openFor(const EvalOptions& options, Precision precision) {
    CommonOptions common = options.common;
    if (common.precision) common.precision = precision;
    return openNetwork(options.model, common, options.size);
}

void addEval(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("eval", "Measure accuracy and cost on a labelled data set");
    auto o = std::make_shared<EvalOptions>();
    addMeasuring(*verb, *o);
    addFiles(*verb, *o);
    addWriting(*verb, *o);
    verb->footer(kEvalExamples + ("\n\n" + methodsHelp()));
    verb->callback([o, &action] { action = [o] { return eval(*o); }; });
}

}  // namespace mpm::cli
