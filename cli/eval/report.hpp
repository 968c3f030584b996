// The output of `mpm eval`: Markdown tables and CSV.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/chart/figure.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::cli {

/// A row for each setting, with the published figures if there are any.
std::string resultTable(const pipeline::EvalSummary& summary);
std::string classTable(const pipeline::EvalSummary& summary);
std::string regionTable(
    const pipeline::EvalSummary& summary);  ///< along boundaries and inside, by size of object
std::string pairTable(
    const pipeline::EvalSummary& summary);  ///< day against night; empty if not both were measured
/// Methods tuned by day; empty if none has several settings by day and by night.
std::string tuningTable(const pipeline::EvalSummary& summary);

/// A sentence a row that reuses, against all tokens; empty if none does.
std::string reuseSummary(const pipeline::EvalSummary& summary);

std::string evalCsv(const pipeline::EvalSummary& summary);

/// File stems and figures.
std::vector<std::pair<std::string, pipeline::Figure>> evalFigures(const pipeline::EvalSummary& summary);

/// DIR/STEM.svg and DIR/STEM.png of each. Throws Error(kFailed).
void writePlots(const std::string& folder, const pipeline::EvalSummary& summary);

}  // namespace mpm::cli
