#include "cli/common/model.hpp"

#include <algorithm>
#include <mutex>

#include "cli/common/error.hpp"
#include "cli/common/terminal.hpp"
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
    try {
        return pipeline::Network(model, size);
    } catch (const pipeline::ModelError& error) {
        throw Error(kBadInput, error.what());
    }
}

void applyReuse(Encoder& encoder, const CommonOptions& options) {
    if (!options.reuse) return;
    try {
        encoder.setReuse(options.reuse);
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--reuse: " + error.err);
    }
}

}  // namespace

pipeline::Network openNetwork(const std::string& model, const CommonOptions& options, cv::Size size,
                              bool mayBeRandom) {
    applyThreads(options);
    pipeline::Network network = load(model, size, mayBeRandom);
    network.encoder().setDevice(options.device.device, options.device.index);
    network.encoder().setPrecision(options.precision);
    if (options.batchIndependent) network.encoder().setBatchIndependent(true);
    applyReuse(network.encoder(), options);
    if (!options.blocks) return network;
    try {
        network.encoder().setSchedule(*options.blocks);
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--blocks " + blocksText(*options.blocks) + ": " + error.err);
    }
    return network;
}

std::vector<Method> parseMethods(const std::string& option, const std::string& text) {
    std::vector<Method> methods;
    for (const std::string& part : splitList(text)) {
        // A part without a name of its own goes on with the one before: tome:r=13,decay=1.
        const bool parameter = part.find('=') != std::string::npos && part.find(':') == std::string::npos;
        if (parameter && !methods.empty() && methods.back().name.find('=') != std::string::npos) {
            methods.back().name += "," + part;
            methods.back().text += "," + part;
            continue;
        }
        if (part.empty())
            throw Error(kWrongUse,
                        option + ": \"" + text + "\" has an empty entry; write none,mpm,tome:r=13");
        Method method{part, std::nullopt, part};
        // NAME:2+5 is a schedule, NAME:KEY=VALUE a parameter.
        const size_t colon = part.find(':');
        if (colon != std::string::npos && part.find('=') == std::string::npos) {
            std::string blocks = part.substr(colon + 1);
            std::replace(blocks.begin(), blocks.end(), '+', ',');
            method.name = part.substr(0, colon);
            method.blocks = parseBlocks(option, blocks);
        }
        methods.push_back(method);
    }
    if (methods.empty()) throw Error(kWrongUse, option + ": no method given; write none,mpm,tome:r=13");
    return methods;
}

void checkMethods(const std::string& option, const std::vector<Method>& methods) {
    pipeline::RandomModel small;
    small.size = {32, 32};
    small.dim = 64, small.depth = 1, small.heads = 1, small.classes = 2;
    pipeline::Network network(small);
    for (const Method& method : methods) {
        try {
            if (method.name != "none") network.encoder().setMethod(method.name);
        } catch (const cv::Exception& error) {
            throw Error(kWrongUse, option + " " + method.text + ": " + error.err);
        }
    }
}

void applyMethod(Encoder& encoder, const Method& method, const std::vector<int>& blocks) {
    try {
        if (method.name == "none") {
            encoder.setMethod("mpm");
            encoder.setSchedule({});
            return;
        }
        encoder.setMethod(method.name);
        encoder.setSchedule(method.blocks ? *method.blocks
                                          : blocks);  // methods with blocks of their own ignore it
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--compare " + method.text + ": " + error.err);
    }
}

}  // namespace mpm::cli
