// The figures of `mpm eval --plots DIR`: all that the measured rows have points for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/chart/figure.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::cli {

/// File stems and figures.
std::vector<std::pair<std::string, pipeline::Figure>> evalFigures(const pipeline::EvalSummary& summary);

/// DIR/STEM.svg and DIR/STEM.png of each. Throws Error(kFailed).
void writePlots(const std::string& folder, const pipeline::EvalSummary& summary);

}  // namespace mpm::cli
