#include "cli/common/table.hpp"

#include <algorithm>
#include <cmath>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "base/statistics.hpp"
#include "cli/common/options.hpp"

namespace mpm::cli {

namespace {

constexpr size_t kLongestCell = 100;
constexpr size_t kMostBlocks = 6;

double worstOf(const std::vector<double>& agreement) {
    return *std::min_element(agreement.begin(), agreement.end());
}

}  // namespace

std::string markdownTable(Cells rows) {
    for (auto& row : rows)
        for (std::string& cell : row)
            cell = printable(cell, kLongestCell);
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 3);
        for (size_t c = 0; c < row.size(); ++c)
            widths[c] = std::max(widths[c], row[c].size());
    }
    std::string table;
    for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t c = 0; c < rows[r].size(); ++c) {
            const std::string pad(widths[c] - rows[r][c].size(), ' ');
            table +=
                c == 0 ? "| " + rows[r][c] + pad : " | " + pad + rows[r][c];  // words left, numbers right
        }
        table += " |\n";
        if (r > 0) continue;
        for (size_t c = 0; c < rows[r].size(); ++c)
            table += (c == 0 ? "| " : " | ") + std::string(widths[c] - 1, '-') + (c == 0 ? "-" : ":");
        table += " |\n";
    }
    return table;
}

std::string fixedCell(double value, int digits) {
    return std::isfinite(value) ? mpm::fixedText(value, digits) : "-";
}

std::string scheduleCell(const std::vector<int>& schedule) {
    return schedule.size() > kMostBlocks ? "all" : blocksText(schedule);
}

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
