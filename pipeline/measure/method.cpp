#include "pipeline/measure/method.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include <mpm/read_net.hpp>

#include "base/random.hpp"
#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {

namespace {

[[noreturn]] void reject(const std::string& line) {
    throw MeasureError(MeasureError::Kind::Settings, line);
}

[[noreturn]] void reject(const Method& method, const std::string& reason) {
    reject("method \"" + method.text + "\": " + reason);
}

std::vector<std::string> entriesOf(const std::string& text) {
    std::vector<std::string> entries;
    std::istringstream stream(text);
    for (std::string entry; std::getline(stream, entry, ',');)
        entries.push_back(entry);
    if (!text.empty() && text.back() == ',') entries.emplace_back();
    return entries;
}

/// Reads NAME:2+5 (a schedule), NAME:KEY=VALUE (a parameter) or NAME:KEY=VALUE:2+5 (both).
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
    if (!reuse) reject(method, "write reuse, or reuse:refresh=60");
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
        // An entry KEY=VALUE without a name is a parameter of the previous method, as in
        // tome:r=13,schedule=falling.
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
            if (method.blocks && (method.name == "none" || mpm::ignoresSchedule(method.name)))
                reject(method, (method.name == "none" ? "merges nothing" : "has its own blocks") +
                                   std::string("; write ") + method.name);
        } catch (const cv::Exception& error) {
            reject(method, error.err);
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
        // ToMe and ALGM ignore the blocks of the schedule, but merge only if the schedule has a block.
        if (blocks.empty() && !method.isOwn() && mpm::ignoresSchedule(reducer)) blocks = {0};
        encoder.setSchedule(method.blocks.value_or(blocks));
    } catch (const cv::Exception& error) {
        reject(method, error.err);
    }
}

namespace {

/// Returns the count of the most frequent label in a superpatch.
int mostFrequent(const cv::Mat& labels) {
    std::map<int, int> counts;
    int most = 0;
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
            most = std::max(most, ++counts[labels.at<ushort>(y, x)]);
    return most;
}

}  // namespace

ShareMethod shareMethodOf(const Method& method) {
    const std::string wanted = "write cts, or cts:shared=120,policy=random (learned, random or oracle)";
    ShareMethod share;
    if (method.blocks) reject(method, wanted);
    const size_t colon = method.name.find(':');
    if (colon == std::string::npos) return share;
    std::istringstream entries(method.name.substr(colon + 1));
    for (std::string entry; std::getline(entries, entry, ',');) {
        const size_t equals = std::min(entry.find('='), entry.size());
        const std::string key = entry.substr(0, equals),
                          value = entry.substr(std::min(equals + 1, entry.size()));
        int count = 0;
        const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), count);
        const bool whole = error == std::errc() && stop == value.data() + value.size() && count >= 0;
        if (key == "shared" && whole)
            share.shared = count;
        else if (key == "policy" && value == "learned")
            share.policy = ShareMethod::Policy::Learned;
        else if (key == "policy" && value == "random")
            share.policy = ShareMethod::Policy::Random;
        else if (key == "policy" && value == "oracle")
            share.policy = ShareMethod::Policy::Oracle;
        else
            reject(method, "\"" + entry + "\" is not understood; " + wanted);
    }
    return share;
}

void applySharing(Network& network, const Method& method) {
    mpm::Sharing* sharing = network.sharing();
    if (sharing == nullptr) {
        if (!method.shares()) return;
        throw MeasureError(
            MeasureError::Kind::Input,
            "method \"" + method.text + "\": " + network.name() +
                " has no policy to share tokens by; name a model of 'mpm-models export --policy', "
                "or other methods");
    }
    const int shared = method.shares() ? shareMethodOf(method).shared.value_or(network.sharedOfFile()) : 0;
    if (shared > sharing->grid().area())
        reject(method, "the model has " + std::to_string(sharing->grid().area()) + " superpatches");
    sharing->setScores({});
    sharing->setShared(shared);
}

cv::Mat randomScores(cv::Size grid, std::uint64_t seed) {
    Random random(seed);
    cv::Mat scores(grid, CV_32F);
    for (int y = 0; y < scores.rows; ++y)
        for (int x = 0; x < scores.cols; ++x)
            scores.at<float>(y, x) = static_cast<float>(random.uniform());
    return scores;
}

cv::Mat oracleScores(const cv::Mat& labels, cv::Size grid, std::uint64_t seed) {
    CV_Check(grid.area(), !grid.empty() && labels.rows % grid.height == 0 && labels.cols % grid.width == 0,
             "labels: expected a whole number of pixels for each superpatch");
    cv::Mat ids;
    labels.convertTo(ids, CV_16U);
    const cv::Size side(labels.cols / grid.width, labels.rows / grid.height);
    cv::Mat scores = randomScores(grid, seed);
    for (int y = 0; y < grid.height; ++y) {
        for (int x = 0; x < grid.width; ++x) {
            // Adds less than 1 to the count, so that random numbers decide only if counts are equal.
            const int most = mostFrequent(ids(cv::Rect({x * side.width, y * side.height}, side)));
            float& score = scores.at<float>(y, x);
            score = (static_cast<float>(most) + 0.5F * score) / static_cast<float>(side.area());
        }
    }
    return scores;
}

}  // namespace mpm::pipeline
