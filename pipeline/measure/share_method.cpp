#include "pipeline/measure/method.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/random.hpp"
#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {

namespace {

[[noreturn]] void rejectSharing(const Method& method, const std::string& reason) {
    throw MeasureError(MeasureError::Kind::Settings, "method \"" + method.text + "\": " + reason);
}

/// Labels of a superpatch: how often the most frequent occurs.
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
    const size_t colon = method.name.find(':');
    if (colon == std::string::npos) {
        if (method.blocks) rejectSharing(method, wanted);
        return share;
    }
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
            rejectSharing(method, "\"" + entry + "\" is not understood; " + wanted);
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
        rejectSharing(method, "the model has " + std::to_string(sharing->grid().area()) + " superpatches");
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
            // Chance decides between equal counts only.
            const int most = mostFrequent(ids(cv::Rect({x * side.width, y * side.height}, side)));
            float& score = scores.at<float>(y, x);
            score = (static_cast<float>(most) + 0.5F * score) / static_cast<float>(side.area());
        }
    }
    return scores;
}

}  // namespace mpm::pipeline
