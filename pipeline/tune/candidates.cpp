#include "pipeline/tune/model_trials.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::pipeline {

namespace {

/// Before which blocks: for 12 of them, every `step`th from `first` to `last`. Other depths are scaled.
struct Span {
    int first, last, step;
};

constexpr Span kUsual{1, 9, 2}, kEvery{1, 9, 1}, kLate{3, 9, 2}, kEarly{1, 5, 2}, kWide{2, 8, 3},
    kOwn{0, 0, 0};

struct Row {
    const char* method;  ///< behind "mpm:pairs=SHARE,by=keys...": a share alone
    Span span;
    double share = 0;  ///< of the tokens: ToMe's r
};

/// A share of the pairs, taken as gentle does.
const Row kTable[] = {{"0.4", kUsual},       {"0.2", kUsual},    {"0.6", kUsual},      {"mpm", {2, 5, 3}},
                      {"tome", kOwn, 0.025}, {"0.3", kUsual},    {"0.5", kUsual},      {"0.2", kEvery},
                      {"0.6", kWide},        {"mpm", {5, 5, 1}}, {"tome", kOwn, 0.05}, {"0.4", kEarly},
                      {"0.4", kLate},        {"0.6", kLate},     {"0.3", kEvery},      {"last-keys", kUsual},
                      {"tome", kOwn, 0.075}, {"algm", kOwn},     {"0.6", kEarly}};

/// Of the paper's schedule the blocks are counted as they are, of others in proportion.
std::vector<int> blocksOf(const Row& row, int blocks) {
    const Span& span = row.span;
    const bool paper = std::string(row.method) == "mpm";
    const double scale = paper ? 1 : blocks / 12.0;
    const int step = std::max(1, static_cast<int>(std::lround(span.step * scale)));
    const int first = paper ? span.first : std::max(1, static_cast<int>(std::lround(span.first * scale)));
    std::vector<int> chosen;
    for (int block = first; block <= span.last * scale && block < blocks; block += step)
        chosen.push_back(block);
    return chosen;
}

std::string gentleWith(const std::string& share, const std::string& by) {
    return "mpm:pairs=" + share + ",by=" + by + ",mean=weighted,attention=proportional";
}

std::string methodOf(const Row& row, int tokens) {
    const std::string text = row.method;
    if (text == "0.4") return "gentle";
    if (text == "last-keys") return gentleWith("0.4", text);
    if (text == "tome") return "tome:r=" + std::to_string(std::max(1, static_cast<int>(tokens * row.share)));
    return text.find('.') != std::string::npos ? gentleWith(text, "keys") : text;
}

}  // namespace

std::vector<Method> tuneCandidates(int blocks, int tokens) {
    std::vector<Method> candidates;
    for (const Row& row : kTable) {
        const std::string name = methodOf(row, tokens);
        const bool own = row.span.step == 0;
        std::vector<int> before =
            own ? mpm::usualBlocks(name, blocks)
            : name == "gentle" && row.span.step == 2 && row.span.first == 1 && row.span.last == 9
                ? mpm::usualBlocks(name, blocks)
                : blocksOf(row, blocks);
        if (before.empty() || tokens < 2) continue;
        std::string text = name;
        for (size_t i = 0; i < before.size() && !own; ++i)
            text += (i == 0 ? ":" : "+") + std::to_string(before[i]);
        const auto same = [&](const Method& other) { return other.text == text; };
        if (std::none_of(candidates.begin(), candidates.end(), same))
            candidates.push_back({name, std::move(before), text});
    }
    return candidates;
}

}  // namespace mpm::pipeline
