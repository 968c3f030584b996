#include "cli/common/table.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace mpm::cli {

namespace {

double worstOf(const std::vector<double>& agreement) {
    return *std::min_element(agreement.begin(), agreement.end());
}

}  // namespace

std::string reuseText(const ReuseFigures& figures, const pipeline::ReuseCounts& reuse,
                      const std::vector<double>& agreement) {
    std::string text = cv::format(
        "With %s a frame takes %.2f ms on average (%.2fx the speed of all tokens) and %.2f GFLOPs (%.2f "
        "times fewer): it computes %.1f %% of the tokens. %.1f %% of the forwards are full, %.1f %% "
        "suspended.",
        figures.method.c_str(), figures.ms, figures.msOfAllTokens / figures.ms, figures.gflops,
        figures.gflopsOfAllTokens / figures.gflops, 100 * reuse.meanRecomputed(), 100 * reuse.fullShare(),
        100 * reuse.suspendedShare());
    if (!agreement.empty())
        text += cv::format(" %.2f %% of the labels are those of all tokens, %.2f %% in the worst frame.",
                           100 * mpm::mean(agreement), 100 * worstOf(agreement));
    return text + "\n";
}

}  // namespace mpm::cli
