#include "cli/eval/options.hpp"

#include "cli/common/error.hpp"
#include "cli/common/network.hpp"
#include "pipeline/dataset/layouts.hpp"

namespace mpm::cli {

namespace {

void require(bool given, const std::string& option) {
    if (!given) throw Error(kWrongUse, option + " is required; see 'mpm eval --help'");
}

void checkJoin(const EvalOptions& options) {
    const pipeline::EvalRequest& request = options.request;
    const bool measures = !options.model.empty() || !request.dataset.empty() || !request.root.empty() ||
                          request.shard || !request.countsFile.empty() || !options.saveLabels.empty();
    if (measures)
        throw Error(kWrongUse,
                    "--join: takes files of --counts and measures nothing; give it no MODEL, --dataset, "
                    "--root, --shard, --counts or --save-labels");
}

}  // namespace

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
    require(!options.model.empty(), "MODEL");
    require(!request.dataset.empty(), "--dataset");
    require(!request.root.empty(), "--root");
    try {
        pipeline::layoutFrom(request.dataset);
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--dataset: " + error.err);
    }
    if (request.paired && request.nights.empty())
        throw Error(kWrongUse, "--paired: compares day with night; add --night");
    std::vector<pipeline::Method> methods;
    for (const pipeline::Method& method : request.methods)
        if (!isSweep(method)) methods.push_back(method);
    checkMethods("--compare", methods);
}

}  // namespace mpm::cli
