#include "pipeline/measure/method.hpp"

#include <charconv>
#include <sstream>

#include <mpm/read_net.hpp>

#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {

namespace {

[[noreturn]] void reject(const std::string& line) {
    throw MeasureError(MeasureError::Kind::Settings, line);
}

std::vector<std::string> entriesOf(const std::string& text) {
    std::vector<std::string> entries;
    std::istringstream stream(text);
    for (std::string entry; std::getline(stream, entry, ',');)
        entries.push_back(entry);
    if (!text.empty() && text.back() == ',') entries.emplace_back();
    return entries;
}

/// NAME:2+5 is a schedule, NAME:KEY=VALUE a parameter, NAME:KEY=VALUE:2+5 both.
Method methodFrom(const std::string& text) {
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || text.find('=', colon) != std::string::npos)
        return {text, std::nullopt, text};
    const auto blocks = blocksFrom(text.substr(colon + 1), '+');
    if (!blocks)
        reject("\"" + text + "\" is not understood; write block numbers from 0, increasing, as mpm:2+5");
    return {text.substr(0, colon), blocks, text};
}

mpm::Reuse reuseOf(const Method& method, const mpm::Reuse& others = {}) {
    const size_t colon = method.name.find(':');
    const std::string values = colon == std::string::npos ? "on" : method.name.substr(colon + 1);
    const auto reuse = mpm::reuseFrom(values, others);
    if (!reuse) reject("method \"" + method.text + "\": write reuse, or reuse:refresh=60");
    return *reuse;
}

}  // namespace

OwnMerging ownMergingOf(const Network& network) {
    return {network.encoder().method(), network.encoder().schedule()};
}

Method Method::in(const OwnMerging& own) const {
    Method named = *this;
    if (name == "mpm" && !blocks) named.text = own.method;
    return named;
}

std::optional<std::vector<int>> blocksFrom(const std::string& text, char separator) {
    std::vector<int> blocks;
    for (const char *at = text.data(), *end = at + text.size();; ++at) {
        int block = 0;
        const auto [stop, error] = std::from_chars(at, end, block);
        if (error != std::errc() || block < 0 || (!blocks.empty() && block <= blocks.back()))
            return std::nullopt;
        blocks.push_back(block);
        if (stop == end) return blocks;
        if (*stop != separator) return std::nullopt;
        at = stop;
    }
}

std::vector<Method> methodsFrom(const std::string& text) {
    std::vector<Method> methods;
    for (const std::string& entry : entriesOf(text)) {
        // An entry without a name continues the previous entry: tome:r=13,schedule=falling.
        const size_t equals = entry.find('=');
        const bool parameter = equals != std::string::npos && equals < entry.find(':');
        if (parameter && !methods.empty() && methods.back().name.find('=') != std::string::npos) {
            methods.back() = methodFrom(methods.back().text + "," + entry);
            continue;
        }
        if (entry.empty()) reject("\"" + text + "\" has an empty entry; write none,mpm,tome:r=13");
        methods.push_back(methodFrom(entry));
    }
    if (methods.empty()) reject("no method given; write none,mpm,tome:r=13");
    return methods;
}

std::vector<Method> withReuse(std::vector<Method> methods, const std::string& values) {
    const std::string name = values == "on" ? "reuse" : "reuse:" + values;
    bool found = false;
    for (Method& method : methods) {
        if (!method.reuses()) continue;
        found = true;
        if (method.name == "reuse") method.name = method.text = name;
    }
    if (!found) methods.push_back({name, std::nullopt, name});
    return methods;
}

Method mutualPairsBefore(const std::vector<int>& blocks) {
    std::string text = "mpm";
    for (size_t i = 0; i < blocks.size(); ++i)
        text += (i == 0 ? ":" : "+") + std::to_string(blocks[i]);
    return {"mpm", blocks, text};
}

void checkMethods(const std::vector<Method>& methods) {
    for (const Method& method : methods) {
        try {
            if (method.reuses()) {
                reuseOf(method);
                continue;
            }
            if (method.shares()) {
                shareMethodOf(method);
                continue;
            }
            mpm::matchingCost(method.name, {});
        } catch (const cv::Exception& error) {
            reject("method \"" + method.text + "\": " + error.err);
        }
    }
}

void applyMethod(Network& network, const Method& method, const OwnMerging& own) {
    mpm::Encoder& encoder = network.encoder();
    applySharing(network, method);
    try {
        if (method.name == "none" || method.shares()) {
            encoder.setMethod("mpm");
            encoder.setReuse(std::nullopt);
            encoder.setSchedule({});
            return;
        }
        const std::string reducer = method.reducer(own);
        encoder.setMethod(reducer);
        encoder.setReuse(method.reuses() ? std::make_optional(reuseOf(method, network.reuse()))
                                         : std::nullopt);
        const std::vector<int> usual = mpm::usualBlocks(reducer, encoder.blocks());
        std::vector<int> blocks = method.isOwn() || usual.empty() ? own.blocks : usual;
        // ToMe and ALGM ignore the schedule, but an empty one runs all tokens.
        if (blocks.empty() && !method.isOwn() && mpm::ignoresSchedule(reducer)) blocks = {0};
        encoder.setSchedule(method.blocks.value_or(blocks));
    } catch (const cv::Exception& error) {
        reject("method \"" + method.text + "\": " + error.err);
    }
}

}  // namespace mpm::pipeline
