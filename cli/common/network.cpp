#include "cli/common/network.hpp"

#include <mutex>

#include <mpm/read_net.hpp>

#include "cli/common/error.hpp"
#include "cli/common/terminal.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::cli {

namespace {

pipeline::Network randomNetwork(cv::Size size) {
    static std::once_flag once;
    std::call_once(once, [] {
        warn("the network has random weights: its speed and its merging are real, its labels mean nothing");
    });
    pipeline::RandomModel random;
    if (!size.empty()) random.size = size;
    if (random.size.width % 16 != 0 || random.size.height % 16 != 0)
        throw Error(kWrongUse, "--size: the network with random weights takes multiples of 16");
    return pipeline::Network(random);
}

pipeline::Network load(const std::string& model, cv::Size size, bool mayBeRandom) {
    if (model == "random" || (model == "default" && mayBeRandom && !pipeline::hasDefaultModel()))
        return randomNetwork(size);
    return orError<pipeline::ModelError>(kBadInput, "", [&] { return pipeline::Network(model, size); });
}

void applyReuse(pipeline::Network& network, const CommonOptions& options) {
    if (options.reuseText.empty()) return;
    orError<cv::Exception>(kWrongUse, "--reuse: ", [&] {
        network.encoder().setReuse(reuseFrom(options.reuseText, network.reuse()));
    });
}

}  // namespace

pipeline::Network openNetwork(const std::string& model, const CommonOptions& options, cv::Size size,
                              bool mayBeRandom) {
    applyThreads(options);
    pipeline::Network network = load(model, size, mayBeRandom);
    if (options.device) network.encoder().setDevice(options.device->device, options.device->index);
    if (options.precision) network.encoder().setPrecision(*options.precision);
    if (options.batchIndependent) network.encoder().setBatchIndependent(true);
    applyReuse(network, options);
    if (!options.blocks) return network;
    orError<cv::Exception>(kWrongUse, "--blocks " + blocksText(*options.blocks) + ": ",
                           [&] { network.encoder().setSchedule(*options.blocks); });
    return network;
}

std::vector<pipeline::Method> parseMethods(const std::string& option, const std::string& text) {
    return orError<pipeline::MeasureError>(kWrongUse, option + ": ",
                                           [&] { return pipeline::methodsFrom(text); });
}

void addReuse(const CommonOptions& options, std::vector<pipeline::Method>& methods) {
    if (options.reuse) methods = pipeline::withReuse(std::move(methods), options.reuseText);
}

void checkMethods(const std::string& option, const std::vector<pipeline::Method>& methods) {
    orError<pipeline::MeasureError>(kWrongUse, option + ": ", [&] { pipeline::checkMethods(methods); });
}

std::string methodsHelp() {
    std::string text =
        "Methods of --compare (docs/reference/reducers.md describes them):\n  none        all tokens\n";
    for (const ReducerInfo& reducer : reducers()) {
        text += "  " + reducer.name + std::string(12 - reducer.name.size(), ' ') + reducer.description;
        for (const ReducerParameter& parameter : reducer.parameters)
            text += (&parameter == &reducer.parameters.front() ? "; " : ", ") + parameter.name + "=" +
                    parameter.fallback;
        text += '\n';
    }
    return text +
           "  reuse       runs the frames of a clip in order and computes only tokens that changed; has the "
           "values of --reuse\n"
           "  cts         four patches of one class share a token, in models with a policy; shared= (that of "
           "the "
           "file), policy=learned (random, oracle)\n"
           "A schedule may follow: mpm:2+5 merges before blocks 2 and 5. tome and algm have their own.";
}

}  // namespace mpm::cli
