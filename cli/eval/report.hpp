// The output of `mpm eval`: Markdown tables and CSV.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/chart/figure.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::cli {

/// Returns a row for each setting, with the paper's figures if the paper has this model and setting.
std::string resultTable(const pipeline::EvalSummary& summary);
std::string classTable(const pipeline::EvalSummary& summary);
std::string regionTable(
    const pipeline::EvalSummary& summary);  ///< mIoU at boundaries and inside; recall by size of object
std::string pairTable(
    const pipeline::EvalSummary& summary);  ///< day against night; empty unless both were measured
/// Returns a table of tunedByDay(). The table is empty unless a method was measured with several settings,
/// both by day and by night.
std::string tuningTable(const pipeline::EvalSummary& summary);

/// Returns a sentence for each row with reuse, compared with all tokens; empty if no row has reuse.
std::string reuseSummary(const pipeline::EvalSummary& summary);

std::string evalCsv(const pipeline::EvalSummary& summary);

/// Returns the figures, each with a file name without extension.
std::vector<std::pair<std::string, pipeline::Figure>> evalFigures(const pipeline::EvalSummary& summary);

/// Writes FOLDER/STEM.svg and FOLDER/STEM.png for each figure. Throws Error(kFailed).
void writePlots(const std::string& folder, const pipeline::EvalSummary& summary);

}  // namespace mpm::cli
