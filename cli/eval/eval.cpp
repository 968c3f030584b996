// mpm eval: accuracy and cost of methods on a labelled data set.
#include <iostream>

#include "cli/common/error.hpp"
#include "cli/common/memory.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/terminal.hpp"
#include "cli/common/verbs.hpp"
#include "cli/eval/eval_plots.hpp"
#include "cli/eval/eval_report.hpp"
#include "cli/eval/eval_run.hpp"
#include "cli/eval/eval_tuning.hpp"
#include "cli/run/frame_files.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  mpm eval default --dataset camvid --root CamVid
  mpm eval model.onnx --dataset ade20k --root ADEChallengeData2016 --compare none,mpm:2+5,mpm:5 --json ade.json
  mpm eval model.onnx --dataset folder --root mine --split test --save-labels out
  mpm eval default --dataset camvid --root CamVid --compare none,mpm --night --paired --plots plots
  mpm eval model.onnx --dataset ade20k --root ADE --shard 1/4 --counts 1.counts     (2/4, 3/4, 4/4 elsewhere)
  mpm eval --join 1.counts 2.counts 3.counts 4.counts --json ade.json

Layouts: camvid and folder read ROOT/SPLIT/images and ROOT/SPLIT/labels (folder: ROOT/classes.json too); ade20k reads
ROOT/images/validation and ROOT/annotations/validation; cityscapes ROOT/leftImg8bit and ROOT/gtFine; pascal-context
ROOT/JPEGImages, SegmentationClassContext and ImageSets/SegmentationContext.
Exit status 1 where images could not be used: they are named and left out.)";

Counts measure(const EvalOptions& options) {
    for (const std::string& path : {options.json, options.csv})
        if (!path.empty()) checkWritable(path);
    if (!options.plots.empty()) makeFolder(options.plots);
    return options.join.empty() ? EvalRun(options).run() : joinCounts(options.join);
}

/// A data set has one root, which may stand elsewhere as a source may.
void readRoot(EvalOptions& options) {
    if (options.sourceFrom.empty()) return;
    const std::vector<pipeline::Address> sources = sourcesFrom({}, options.sourceFrom);
    if (sources.size() != 1 || !options.root.empty())
        throw Error(kWrongUse,
                    "--source-from: eval reads one data set; name its folder once, there or with --root");
    options.root = sources[0].reveal();
}

int eval(EvalOptions options) {
    readRoot(options);
    checkUsage(options);
    limitMemory(options.common.maxMemory);
    const EvalSummary summary(measure(options));
    if (summary.names.empty())
        throw Error(kBadInput, (options.root.empty() ? "--join" : "--root " + options.root) +
                                   ": none of the pictures can be used");
    std::cout << resultTable(summary) << '\n' << classTable(summary) << '\n' << regionTable(summary);
    const std::string pairs = pairTable(summary);
    if (!pairs.empty()) std::cout << '\n' << pairs;
    const std::string tuning = tuningTable(summary, kTuningBudget);
    if (!tuning.empty()) std::cout << '\n' << tuning;
    if (!options.json.empty()) writeJson(options.json, evalJson(summary));
    if (!options.csv.empty()) writeText(options.csv, evalCsv(summary));
    if (!options.plots.empty()) writePlots(options.plots, summary);
    if (summary.leftOut.empty()) return kDone;
    std::string line =
        std::to_string(summary.leftOut.size()) + " images could not be used and were left out: ";
    for (size_t i = 0; i < summary.leftOut.size() && i < 10; ++i)
        line += (i > 0 ? ", " : "") + summary.leftOut[i];
    complain(line + (summary.leftOut.size() > 10 ? ", ..." : ""));
    return kFailed;
}

void addMeasuring(CLI::App& verb, EvalOptions& o) {
    verb.add_option("MODEL", o.model, "an ONNX model of 'mpm convert', default, or random (weights)");
    verb.add_option("--dataset", o.dataset, "layout of the data set")
        ->type_name("camvid|ade20k|cityscapes|pascal-context|folder");
    verb.add_option("--root", o.root, "where the data set lies")->type_name("DIR");
    addSourceFrom(verb, o.sourceFrom);
    verb.add_option("--split", o.split, "part of it (default: val)")->type_name("NAME");
    addParsed(verb, "--batch", "windows in a forward (default: 1)", "1,32",
              [&o](const std::string& text) { o.batches = parseCounts("--batch", text, 1); });
    addParsed(verb, "--compare",
              "methods (default: the model's own); singles and pairs: one or two insertions "
              "at every block",
              "none,mpm:2+5,tome:r=13",
              [&o](const std::string& text) { o.methods = parseMethods("--compare", text); });
    addParsed(verb, "--size", "input size, where the model leaves it open", "HxW",
              [&o](const std::string& text) { o.size = parseSize("--size", text); });
    addParsed(verb, "--limit", "only the first N pictures", "N",
              [&o](const std::string& text) { o.limit = parseCount("--limit", text, 1); });
    addNightOptions(verb, o.nights);
    verb.add_flag("--paired", o.paired, "with --night: by day too, over the same pictures");
    addCommonOptions(verb, o.common, true, false);
    addMemoryOption(verb, o.common);
    addParsed(verb, "--precision", "of the encoder's products, several with commas (default: f32)",
              "f32,bf16", [&o](const std::string& text) {
                  o.precisions.clear();
                  for (const std::string& part : splitList(text))
                      o.precisions.push_back(parsePrecision("--precision", part));
              });
}

void addWriting(CLI::App& verb, EvalOptions& o) {
    verb.add_option("--json", o.json, "write the results as JSON too")->type_name("FILE");
    verb.add_option("--csv", o.csv, "write the table as CSV too")->type_name("FILE");
    verb.add_option("--plots", o.plots, "draw what the results allow, as SVG and PNG")->type_name("DIR");
    verb.add_option("--save-labels", o.saveLabels, "write STEM.png of ids; a folder a row where several")
        ->type_name("DIR");
    verb.add_option("--counts", o.counts,
                    "write every picture's counts and every batch's times; a run that was "
                    "killed goes on from there")
        ->type_name("FILE");
    addParsed(verb, "--shard", "only the i-th of n parts (from 1)", "i/n",
              [&o](const std::string& text) { o.shard = parseShard("--shard", text); });
    verb.add_option("--join", o.join, "no MODEL: the shards' --counts files as one result")
        ->type_name("FILES");
}

}  // namespace

void addEval(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("eval", "Measure accuracy and cost on a labelled data set");
    auto o = std::make_shared<EvalOptions>();
    addMeasuring(*verb, *o);
    addWriting(*verb, *o);
    verb->footer(kExamples);
    verb->callback([o, &action] { action = [o] { return eval(*o); }; });
}

}  // namespace mpm::cli
