#include "cli/eval/options.hpp"

#include <cmath>
#include <iostream>
#include <set>

#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/network.hpp"
#include "cli/common/table.hpp"
#include "cli/common/terminal.hpp"
#include "models/onnx/io/read.hpp"
#include "pipeline/measure/detector/evaluation.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::cli {

namespace {

/// A JSON list of detections, as text.
class ResultList {
public:
    void add(const pipeline::CocoObject& found) {
        const cv::Rect2d& box = found.box;
        const cv::Size& size = found.mask.size;
        Json json = {{"image_id", found.image}, {"category_id", found.category}, {"score", found.score}};
        // Writes no box next to a mask, because COCO's code would then use the box's area as the mask's area.
        if (found.mask.runs.empty())
            json["bbox"] = {box.x, box.y, box.width, box.height};
        else
            json["segmentation"] = {{"size", {size.height, size.width}},
                                    {"counts", pipeline::runLengthsText(found.mask)}};
        m_text += (m_text.empty() ? "[\n" : ",\n") + json.dump();
    }
    std::string text() const { return m_text.empty() ? "[]\n" : m_text + "\n]\n"; }

private:
    std::string m_text;
};

pipeline::DetectionRequest requestOf(const EvalOptions& options) {
    pipeline::DetectionRequest request;
    request.root = options.request.root;
    request.annotations = options.annotations;
    request.masks = options.iou == "segm";
    request.methods = options.request.methods;
    request.precisions = options.request.precisions;
    request.limit = options.request.limit;
    request.shard = options.request.shard.value_or(pipeline::Shard());
    request.countsFile = options.request.countsFile;
    return request;
}

pipeline::DetectionEval measureDetector(const EvalOptions& options) try {
    if (!options.saveDetections.empty()) checkWritable(options.saveDetections);
    const auto open = [&options](Precision precision) { return openFor(options, precision); };
    std::string digest = "random";
    {
        const pipeline::Network network = open(options.request.precisions.front());
        if (!network.random()) digest = models::sha256OfFile(network.name());
    }
    pipeline::DetectionEvaluation evaluation(requestOf(options), open, digest);
    catchStopSignals();
    ResultList results;
    pipeline::DetectionEvaluation::Sink save;
    if (!options.saveDetections.empty())
        save = [&](const pipeline::CocoObject& found) { results.add(found); };
    pipeline::DetectionEval eval = evaluation.run(&modelCost, watchOnTerminal("image"), save);
    if (!options.saveDetections.empty()) writeBytes(options.saveDetections, results.text());
    return eval;
} catch (const pipeline::ModelError& error) {
    throw Error(kBadInput, options.model + ": " + error.what());
}

double figure(const Json& row, const char* name) {
    const double value = row.at("stats").at(name).get<double>();
    return value < 0 ? NAN : value;
}

double numberIn(const Json& row, const char* name) {
    return row.at(name).is_number() ? row.at(name).get<double>() : NAN;
}

std::string table(const Json& rows) {
    Cells cells = {{"method", "schedule", "device", "precision", "AP", "AP50", "AP75", "small", "medium",
                    "large", "AR 100", "tokens left", "GFLOPs", "ms", "images"}};
    for (const Json& row : rows) {
        const auto tokens = row.at("tokens").get<std::vector<double>>();
        const auto text = [&](const char* name) { return row.at(name).get<std::string>(); };
        std::vector<std::string> line = {text("parameters"),
                                         scheduleCell(row.at("schedule").get<std::vector<int>>()),
                                         text("device"), text("precision")};
        for (const char* name : {"AP", "AP50", "AP75", "AP_small", "AP_medium", "AP_large", "AR_100"})
            line.push_back(fixedCell(figure(row, name), 4));
        line.push_back(fixedCell(tokens.empty() ? NAN : tokens.back(), 1));
        line.push_back(fixedCell(numberIn(row, "gflops"), 2));
        line.push_back(fixedCell(numberIn(row, "ms"), 1));
        line.push_back(std::to_string(row.at("images").get<int>()));
        cells.push_back(line);
    }
    return markdownTable(cells);
}

std::string categoryTable(const Json& rows) {
    Cells cells = {{"AP by category"}};
    for (const Json& row : rows)
        cells[0].push_back(row.at("parameters").get<std::string>());
    const Json& categories = rows.at(0).at("categories");
    for (size_t i = 0; i < categories.size(); ++i) {
        cells.push_back({printable(categories[i].value("name", std::string()), 40)});
        for (const Json& row : rows) {
            const double ap = row.at("categories").at(i).at("AP").get<double>();
            cells.back().push_back(fixedCell(ap < 0 ? NAN : ap, 4));
        }
    }
    return markdownTable(cells);
}

}  // namespace

int evalDetector(const EvalOptions& options) {
    if (!options.join.empty() && !(options.csv.empty() && options.plots.empty()))
        throw Error(kWrongUse,
                    "--join: counts of a detector take no --csv or --plots; --json has all figures");
    if (!options.json.empty()) checkWritable(options.json);
    const pipeline::DetectionEval eval =
        options.join.empty() ? measureDetector(options) : pipeline::joinDetectionCounts(options.join);
    std::set<std::string> leftOut;
    for (const pipeline::DetectionCounts& one : eval.counts)
        if (!one.leftOut.empty()) leftOut.insert(one.leftOut);
    const Json rows = pipeline::detectionRows(eval);
    if (eval.counts.empty() && options.request.shard) return reportEmptyShard();
    if (rows.empty() || rows[0]["images"] == 0)
        throw Error(kBadInput, (options.join.empty() ? "--root " + options.request.root : "--join") +
                                   ": none of the images can be used");
    printShard(options.request.shard);
    std::cout << table(rows) << '\n' << categoryTable(rows);
    Json report = eval.head;
    report.erase("mpm_detection_counts");
    report.erase("settings");
    report["left_out"] = leftOut;
    report["results"] = rows;
    if (!options.json.empty()) writeJson(options.json, report);
    if (leftOut.empty()) return kDone;
    printError(std::to_string(leftOut.size()) + " images could not be used and were left out: " +
               printable(*leftOut.begin(), 100) + (leftOut.size() > 1 ? ", ..." : ""));
    return kFailed;
}

}  // namespace mpm::cli
