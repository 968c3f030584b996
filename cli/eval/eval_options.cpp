#include "cli/eval/eval_options.hpp"

#include "cli/common/error.hpp"
#include "pipeline/dataset/layouts.hpp"

namespace mpm::cli {

namespace {

void wanted(bool given, const std::string& what) {
    if (!given) throw Error(kWrongUse, what + " is required; see 'mpm eval --help'");
}

void checkJoin(const EvalOptions& options) {
    const bool measures = !options.model.empty() || !options.dataset.empty() || !options.root.empty() ||
                          options.shard || !options.counts.empty() || !options.saveLabels.empty();
    if (measures)
        throw Error(
            kWrongUse,
            "--join: takes files of --counts and nothing else that measures; give it no MODEL, --dataset, "
            "--root, --shard, --counts or --save-labels");
}

Method insertion(std::vector<int> blocks) {
    std::string text = "mpm";
    for (size_t i = 0; i < blocks.size(); ++i)
        text += (i == 0 ? ":" : "+") + std::to_string(blocks[i]);
    return {"mpm", std::move(blocks), text};
}

/// `singles` is one insertion before each block, `pairs` every two: the sweeps over depth.
std::vector<Method> expanded(const std::vector<Method>& methods, int blocks) {
    std::vector<Method> all;
    for (const Method& method : methods) {
        if (method.name != "singles" && method.name != "pairs") {
            all.push_back(method);
            continue;
        }
        for (int first = 0; first < blocks; ++first) {
            if (method.name == "singles") all.push_back(insertion({first}));
            for (int second = first + 1; method.name == "pairs" && second < blocks; ++second)
                all.push_back(insertion({first, second}));
        }
    }
    return all;
}

}  // namespace

Shard parseShard(const std::string& option, const std::string& text) {
    const std::vector<std::string> parts = splitList(text, '/');
    if (parts.size() == 2) {
        const Shard shard{parseCount(option, parts[0], 1), parseCount(option, parts[1], 1)};
        if (shard.index <= shard.count) return shard;
    }
    throw Error(kWrongUse,
                option + ": \"" + text + "\" is not understood; write i/n with i from 1 to n, as 2/4");
}

void checkUsage(const EvalOptions& options) {
    if (!options.join.empty()) return checkJoin(options);
    wanted(!options.model.empty(), "MODEL");
    wanted(!options.dataset.empty(), "--dataset");
    wanted(!options.root.empty(), "--root");
    try {
        pipeline::layoutFrom(options.dataset);
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--dataset: " + error.err);
    }
    if (options.paired && options.nights.empty())
        throw Error(kWrongUse, "--paired: compares day with night; add --night");
    std::vector<Method> methods;
    for (const Method& method : options.methods)
        if (method.name != "singles" && method.name != "pairs") methods.push_back(method);
    checkMethods("--compare", methods);
}

std::vector<Setting> settingsOf(const EvalOptions& options, int blocks) {
    std::vector<NightOption> lights;
    if (options.nights.empty() || options.paired) lights.emplace_back();
    lights.insert(lights.end(), options.nights.begin(), options.nights.end());
    const std::vector<Method> methods =
        options.methods.empty() ? parseMethods("--compare", "mpm") : expanded(options.methods, blocks);
    std::vector<Setting> settings;
    for (const NightOption& night : lights)
        for (const Precision precision : options.precisions)
            for (const int batch : options.batches)
                for (const Method& method : methods)
                    settings.push_back({method, precision, batch, night});
    return settings;
}

}  // namespace mpm::cli
