// Tables in Markdown.
#pragma once

#include <string>
#include <vector>

#include "pipeline/measure/reuse_counts.hpp"

namespace mpm::cli {

using Cells = std::vector<std::vector<std::string>>;

/// Returns a Markdown table; the first row has the names of the columns. Pads columns, so that the table is
/// also readable as plain text.
std::string markdownTable(Cells rows);

/// Returns `value` with `digits` digits after the point; "-" if `value` is not finite.
std::string fixedCell(double value, int digits);

/// Returns the blocks of a schedule; "all" if there are more than 6 blocks.
std::string scheduleCell(const std::vector<int>& schedule);

struct ReuseFigures {
    std::string method;
    double ms = 0, msOfAllTokens = 0, gflops = 0, gflopsOfAllTokens = 0;
};

std::string reuseText(const ReuseFigures& figures, const pipeline::ReuseCounts& reuse,
                      const std::vector<double>& agreement);

}  // namespace mpm::cli
