#include "cli/eval/paper.hpp"

#include <array>
#include <cmath>

namespace mpm::cli {

namespace {

/// Segmenter with a Mask Transformer, single scale; in the order none, ALGM, ToMe, MPM {2,5}.
struct PaperModel {
    const char* dataset;
    int width, patch;
    std::array<PaperFigures, 4> methods;
};

constexpr double kNone = -1;

const PaperModel kModels[] = {
    {"ade20k", 192, 16, {{{38.1, 25, 660}, {38.9, 16.7, 665}, {38.1, 19, 751}, {37.6, 17.6, 831}}}},
    {"ade20k", 384, 16, {{{45.3, 76.9, 333}, {46.4, 55, 343}, {45.5, 59, 388}, {45.1, 54, 431}}}},
    {"ade20k", 768, 16, {{{48.5, 258, 133}, {49.4, 160, 138}, {49.1, 201, 160}, {48.0, 184, 177}}}},
    {"ade20k", 768, 8, {{{49.5, 1320, 20}, {kNone, 0, 0}, {kNone, 0, 0}, {49.2, 809, 35}}}},
    {"ade20k", 1024, 16, {{{51.7, 800, 47}, {52.7, 624, 50}, {51.8, 633, 56}, {50.4, 496, 74}}}},
    {"pascal-context", 384, 16, {{{53.0, 64, 426}, {53.2, 52, 430}, {53, 45, 505}, {52.5, 44, 561}}}},
    {"pascal-context", 768, 16, {{{55.0, 219, 159}, {55, 164, 166}, {54.8, 161, 201}, {54.5, 153, 213}}}},
    {"pascal-context", 1024, 16, {{{58.0, 686, 56}, {58.0, 400, 58}, {58, 522, 69}, {57.3, 416, 84}}}},
    {"cityscapes", 384, 16, {{{76.3, 116, 106}, {76.9, 79, 132}, {76.3, 97, 105}, {75.3, 81, 158}}}},
    {"cityscapes", 768, 16, {{{77.3, 348, 44}, {76.4, 211, 62}, {77.3, 298, 46}, {76.3, 247, 65}}}},
};

int columnOf(const EvalRow& row) {
    if (row.method == "none") return 0;
    if (row.method == "algm") return 1;
    if (row.method == "tome") return 2;
    return row.method == "mpm" && row.schedule == std::vector<int>{2, 5} ? 3 : -1;
}

}  // namespace

std::optional<PaperFigures> paperFigures(const Json& head, const EvalRow& row) {
    const int column = columnOf(row);
    if (column < 0 || row.night || row.tokens.empty()) return std::nullopt;
    const double pixels = head.at("size").at(0).get<double>() * head.at("size").at(1).get<double>();
    const int patch = static_cast<int>(std::lround(std::sqrt(pixels / row.tokens.front())));
    for (const PaperModel& model : kModels) {
        const bool this_ = head.at("dataset") == model.dataset &&
                           head.at("encoder").at("width") == model.width && patch == model.patch;
        if (this_ && model.methods[column].miou > 0) return model.methods[column];
    }
    return std::nullopt;
}

}  // namespace mpm::cli
