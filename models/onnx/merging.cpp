#include "models/onnx/metadata.hpp"

#include <algorithm>
#include <cstdlib>

#include <mpm/mpm.hpp>

#include "base/printable.hpp"

namespace mpm::models {
namespace {

[[noreturn]] void reject(const std::string& line) {
    CV_Error(cv::Error::StsOutOfRange, line);
}

std::string nameOf(const std::string& method) {
    return method.substr(0, method.find(':'));
}

/// Returns the text of a parameter; empty if the method does not give the parameter.
std::string valueOf(const std::string& method, const std::string& key) {
    for (size_t at = method.find(':'); at != std::string::npos; at = method.find(',', at)) {
        ++at;
        if (method.compare(at, key.size() + 1, key + "=") != 0) continue;
        const size_t from = at + key.size() + 1;
        return method.substr(from, method.find(',', from) - from);
    }
    return "";
}

/// Removes the parameters of "mpm" if all have their default values. A file then needs no attribute `method`.
std::string shortest(const std::string& method) {
    if (nameOf(method) != "mpm") return method;
    for (const ReducerInfo& reducer : reducers()) {
        if (reducer.name != "mpm") continue;
        for (const ReducerParameter& parameter : reducer.parameters) {
            const std::string value = valueOf(method, parameter.name);
            if (!value.empty() && value != parameter.fallback) return method;
        }
    }
    return "mpm";
}

void checkMethod(const std::string& method) {
    try {
        usualBlocks(method, 1);
    } catch (const cv::Exception& error) {
        reject("--method: " + error.err);
    }
}

std::string methodFor(const ConvertOptions& options) {
    if (!options.method) return options.blocks || options.form == Form::Layers ? "mpm" : "gentle";
    checkMethod(*options.method);
    const std::string method = shortest(*options.method);
    if (options.form == Form::Layers && method != "mpm" && method != "none")
        reject("--method: the layers form merges mutual pairs only; use mpm, or --form fused");
    const bool ownBlocks = method == "none" || ignoresSchedule(method);
    if (ownBlocks && options.blocks && !options.blocks->empty())
        reject("--blocks: the method '" + printable(method, 80) + "' takes none; leave the option out");
    return method;
}

List<int> usualSchedule(const std::string& method, int blocks) {
    if (method == "none") return {};
    List<int> schedule = usualBlocks(method, blocks);
    if (schedule.empty() && nameOf(method) != "gentle") schedule = {2, 5};
    schedule.erase(std::remove_if(schedule.begin(), schedule.end(), [=](int b) { return b >= blocks; }),
                   schedule.end());
    return schedule;
}

}  // namespace

Merging mergingFor(const ConvertOptions& options, int blocks) {
    const std::string method = methodFor(options);
    const List<int> schedule = options.blocks ? *options.blocks : usualSchedule(method, blocks);
    for (size_t k = 0; k < schedule.size(); ++k) {
        if (schedule[k] < 0 || schedule[k] >= blocks || (k > 0 && schedule[k] <= schedule[k - 1])) {
            reject(
                cv::format("--blocks must be strictly increasing block numbers from 0 to %d, as the model "
                           "has %d blocks",
                           blocks - 1, blocks));
        }
    }
    // If the schedule is empty, no method merges. The file then names "mpm", which needs only version 1 of
    // domain mpm.
    return {method == "none" || schedule.empty() ? "mpm" : method, schedule};
}

std::optional<double> usuallyLeft(const std::string& method, double tokens) {
    constexpr double kPairs = 0.25;       // usual number of pairs as a share of the tokens, from the paper
    constexpr double kGentleShare = 0.4;  // share of the pairs that merge
    const std::string name = nameOf(method), pairs = valueOf(method, "pairs");
    double merged = 0;
    if (name == "gentle") {
        merged = kGentleShare * kPairs * tokens;
    } else if (name == "mpm" || name == "local") {
        const bool share = pairs.find('.') != std::string::npos;
        merged = kPairs * tokens * (share ? std::strtod(pairs.c_str(), nullptr) : 1);
        if (!share && !pairs.empty() && pairs != "all")
            merged = std::min(merged, std::strtod(pairs.c_str(), nullptr));
    } else if (name == "tome") {
        const std::string r = valueOf(method, "r");
        merged = std::min(tokens / 2, r.empty() ? 13 : std::strtod(r.c_str(), nullptr));
    } else {
        return std::nullopt;
    }
    return tokens - merged;
}

}  // namespace mpm::models
