// What `mpm eval --plots DIR` draws: every figure that the measured rows have the points for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/eval/eval_summary.hpp"
#include "pipeline/chart/figure.hpp"

namespace mpm::cli {

/// File stems and figures.
std::vector<std::pair<std::string, pipeline::Figure>> evalFigures(const EvalSummary& summary);

/// DIR/STEM.svg and DIR/STEM.png of each. Throws Error(kFailed).
void writePlots(const std::string& folder, const EvalSummary& summary);

}  // namespace mpm::cli
