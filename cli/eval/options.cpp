#include "cli/eval/options.hpp"

#include <iostream>

#include "cli/common/error.hpp"
#include "cli/common/network.hpp"
#include "cli/common/terminal.hpp"
#include "pipeline/dataset/layouts.hpp"

namespace mpm::cli {

namespace {

void require(bool given, const std::string& option) {
    if (!given) throw Error(kWrongUse, option + " is required; see 'mpm eval --help'");
}

void checkJoin(const EvalOptions& options) {
    const pipeline::EvalRequest& request = options.request;
    const bool measures = !options.model.empty() || !request.dataset.empty() || !request.root.empty() ||
                          request.shard || !request.countsFile.empty() || !options.saveLabels.empty() ||
                          !options.saveDetections.empty() || request.limit > 0 || !request.methods.empty() ||
                          !request.nights.empty();
    if (measures)
        throw Error(kWrongUse,
                    "--join: takes files of --counts and measures nothing; give it no MODEL, --dataset, "
                    "--root, --shard, --counts, --compare, --limit, --night, --save-labels or "
                    "--save-detections");
}

/// Checks the options for scoring result files, which needs no model.
void checkFiles(const EvalOptions& options) {
    const pipeline::EvalRequest& request = options.request;
    require(!request.dataset.empty(), "--dataset");
    if (request.dataset != "coco" && request.dataset != "mot")
        throw Error(kWrongUse, "--results: needs --dataset coco or mot");
    if (request.dataset == "coco") require(!options.annotations.empty(), "--annotations");
    if (request.dataset == "mot") require(!options.truth.empty(), "--truth");
    require(!options.results.empty(), "--results");
    if (!options.model.empty() || !request.root.empty() || !request.methods.empty())
        throw Error(kWrongUse,
                    "--results: scores a file without a model; give no MODEL, --root or --compare");
    const bool others = !options.csv.empty() || !options.plots.empty() || !options.saveLabels.empty() ||
                        !options.saveDetections.empty() || !request.countsFile.empty() || request.shard ||
                        request.limit > 0 || !request.nights.empty();
    if (others)
        throw Error(
            kWrongUse,
            "--results: takes no --csv, --plots, --save-labels, --save-detections, --counts, --shard, "
            "--limit or --night; --json has all figures");
}

/// Checks all methods except sweeps, which become methods only after the model is opened.
void checkCompared(const EvalOptions& options) {
    std::vector<pipeline::Method> methods;
    for (const pipeline::Method& method : options.request.methods)
        if (!isSweep(method)) methods.push_back(method);
    checkMethods("--compare", methods);
}

/// Checks options for a detector on images with annotations in COCO's format.
void checkDetector(const EvalOptions& options) {
    const pipeline::EvalRequest& request = options.request;
    require(!options.annotations.empty(), "--annotations");
    const bool others = !options.csv.empty() || !options.plots.empty() || !options.saveLabels.empty() ||
                        !request.nights.empty() || request.paired || request.batches != std::vector<int>{1};
    if (others)
        throw Error(kWrongUse,
                    "--dataset coco: takes no --csv, --plots, --save-labels, --night, --paired or --batch");
    checkCompared(options);
}

}  // namespace

bool scoresFiles(const EvalOptions& options) {
    return !options.results.empty() || options.request.dataset == "mot";
}

pipeline::Shard parseShard(const std::string& option, const std::string& text) {
    const std::vector<std::string> parts = splitList(text, '/');
    if (parts.size() == 2) {
        const pipeline::Shard shard{parseCount(option, parts[0], 1), parseCount(option, parts[1], 1)};
        if (shard.index <= shard.count) return shard;
    }
    throw Error(kWrongUse,
                option + ": \"" + text + "\" is not understood; write i/n with i from 1 to n, as 2/4");
}

void checkUsage(const EvalOptions& options) {
    const pipeline::EvalRequest& request = options.request;
    if (!options.join.empty()) return checkJoin(options);
    if (scoresFiles(options)) return checkFiles(options);
    require(!options.model.empty(), "MODEL");
    require(!request.dataset.empty(), "--dataset");
    require(!request.root.empty(), "--root");
    if (request.dataset == "coco") return checkDetector(options);
    if (!options.annotations.empty() || !options.saveDetections.empty())
        throw Error(kWrongUse, "--annotations and --save-detections: belong to --dataset coco");
    orError<cv::Exception>(kWrongUse, "--dataset: ", [&] { pipeline::layoutFrom(request.dataset); });
    if (request.paired && request.nights.empty())
        throw Error(kWrongUse, "--paired: compares day with night; add --night");
    checkCompared(options);
}

void printShard(const std::optional<pipeline::Shard>& shard) {
    if (shard) std::cout << "Shard " << shard->index << " of " << shard->count << ":\n\n";
}

int reportEmptyShard() {
    warn("--shard: this part has no images, as there are more parts than groups of images");
    return kDone;
}

}  // namespace mpm::cli
