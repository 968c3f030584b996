#include "cli/common/table.hpp"

#include <algorithm>
#include <cmath>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "cli/common/options.hpp"

namespace mpm::cli {

namespace {

constexpr size_t kLongestCell = 100;
constexpr size_t kMostBlocks = 6;

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

}  // namespace mpm::cli
