// mpm eval: accuracy and cost of methods on a labelled data set.
#include <cmath>
#include <iostream>

#include "cli/error.hpp"
#include "cli/eval_run.hpp"
#include "cli/verbs.hpp"

namespace mpm::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  mpm eval default --dataset camvid --root CamVid
  mpm eval model.onnx --dataset ade20k --root ADEChallengeData2016 --compare none,mpm:2+5,mpm:5 --json ade.json
  mpm eval model.onnx --dataset folder --root mine --split test --save-labels out
  mpm eval default --dataset camvid --root CamVid --night 0.35,250,0.01

Layouts: camvid and folder read ROOT/SPLIT/images and ROOT/SPLIT/labels (folder: ROOT/classes.json too); ade20k reads
ROOT/images/validation and ROOT/annotations/validation; cityscapes ROOT/leftImg8bit and ROOT/gtFine; pascal-context
ROOT/JPEGImages, SegmentationClassContext and ImageSets/SegmentationContext.
Exit status 1 where pictures could not be used: they are named and left out.)";

Json toJson(const EvalRow& row) {
    Json ious = Json::array();
    for (double iou : row.confusion.iou())
        ious.push_back(finite(iou));
    return {{"method", row.method.shortName()},
            {"parameters", row.method.text},
            {"schedule", row.tokens.schedule()},
            {"device", deviceName(row.device)},
            {"precision", precisionName(row.precision)},
            {"batch", row.batch},
            {"tokens", row.tokens.means()},
            {"gflops", finite(mean(row.operations) / 1e9)},
            {"gflops_deviation", finite(deviation(row.operations) / 1e9)},
            {"miou", finite(row.confusion.miou())},
            {"macc", finite(row.confusion.macc())},
            {"aacc", finite(row.confusion.aacc())},
            {"iou", ious},
            {"images", row.images},
            {"windows_per_second", finite(row.windowsPerSecond)}};
}

std::string table(const std::vector<EvalRow>& rows) {
    std::vector<std::vector<std::string>> cells = {{"method", "schedule", "device", "precision", "batch",
                                                    "mIoU", "loss", "mAcc", "aAcc", "tokens left", "GFLOPs",
                                                    "+-", "windows/s", "images"}};
    for (const EvalRow& row : rows) {
        double loss = NAN;
        for (const EvalRow& other : rows)
            if (other.method.name == "none") loss = other.confusion.miou() - row.confusion.miou();
        const std::vector<double> tokens = row.tokens.means();
        cells.push_back({row.method.text, blocksText(row.tokens.schedule()), deviceName(row.device),
                         precisionName(row.precision), std::to_string(row.batch),
                         fixedText(100 * row.confusion.miou(), 2), fixedText(100 * loss, 2),
                         fixedText(100 * row.confusion.macc(), 2), fixedText(100 * row.confusion.aacc(), 2),
                         tokens.empty() ? "-" : fixedText(tokens.back(), 1),
                         fixedText(mean(row.operations) / 1e9, 2),
                         fixedText(deviation(row.operations) / 1e9, 2), fixedText(row.windowsPerSecond, 2),
                         std::to_string(row.images)});
    }
    return markdownTable(cells);
}

std::string classTable(const std::vector<EvalRow>& rows, const std::vector<std::string>& names) {
    std::vector<std::vector<std::string>> cells = {{"IoU by class"}};
    for (const EvalRow& row : rows)
        cells[0].push_back(row.method.text);
    for (int id = 0; id < rows.front().confusion.classes(); ++id) {
        cells.push_back({id < int(names.size()) ? names[id] : "class " + std::to_string(id)});
        for (const EvalRow& row : rows)
            cells.back().push_back(fixedText(100 * row.confusion.iou()[id], 2));
    }
    return markdownTable(cells);
}

int eval(const EvalOptions& options) {
    if (!options.json.empty()) checkWritable(options.json);
    EvalRun run(options);
    run.run();
    std::cout << table(run.rows()) << '\n' << classTable(run.rows(), run.classNames());
    if (!options.json.empty()) {
        Json report = reportHead(run.network());
        report["dataset"] = options.dataset;
        report["split"] = options.split;
        if (options.night)
            report["night"] = {options.night->luminance, options.night->photons, options.night->deviation};
        report["classes"] = run.classNames();
        report["left_out"] = run.leftOut();
        for (const EvalRow& row : run.rows())
            report["results"].push_back(toJson(row));
        writeJson(options.json, report);
    }
    if (run.leftOut().empty()) return kDone;
    std::cerr << "mpm: " << run.leftOut().size() << " pictures could not be used and were left out"
              << std::endl;
    return kFailed;
}

}  // namespace

void addEval(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("eval", "Measure accuracy and cost on a labelled data set");
    auto o = std::make_shared<EvalOptions>();
    verb->add_option("MODEL", o->model, "an ONNX model of 'mpm convert', default, or random (weights)")
        ->required();
    verb->add_option("--dataset", o->dataset, "layout of the data set")
        ->required()
        ->type_name("camvid|ade20k|cityscapes|pascal-context|folder");
    verb->add_option("--root", o->root, "where the data set lies")->required()->type_name("DIR");
    verb->add_option("--split", o->split, "part of it (default: val)")->type_name("NAME");
    addParsed(*verb, "--batch", "windows in a forward (default: 1)", "B",
              [o](const std::string& text) { o->batch = parseCount("--batch", text, 1); });
    addParsed(*verb, "--compare", "methods (default: the model's own)", "none,mpm:2+5,tome:r=13",
              [o](const std::string& text) { o->methods = parseMethods("--compare", text); });
    addParsed(*verb, "--size", "input size, where the model leaves it open", "HxW",
              [o](const std::string& text) { o->size = parseSize("--size", text); });
    addParsed(*verb, "--limit", "only the first N pictures", "N",
              [o](const std::string& text) { o->limit = parseCount("--limit", text, 1); });
    verb->add_option("--json", o->json, "write the results as JSON too")->type_name("FILE");
    verb->add_option("--save-labels", o->saveLabels, "write STEM.png of ids; a folder a method where several")
        ->type_name("DIR");
    addNightOption(*verb, o->night);
    addCommonOptions(*verb, o->common);
    verb->footer(kExamples);
    verb->callback([o, &action] { action = [o] { return eval(*o); }; });
}

}  // namespace mpm::cli
