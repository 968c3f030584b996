// The argument of no knobs: each method's setting as one would choose it by day, and what becomes of it by
// night.
#pragma once

#include <string>
#include <vector>

#include "cli/eval/eval_summary.hpp"

namespace mpm::cli {

/// One method family, tuned: the least operations at which mIoU by day falls by no more than the budget.
struct Tuned {
    const EvalRow* day;    ///< the chosen setting
    const EvalRow* night;  ///< the same setting by night
    const EvalRow* best;   ///< what the same rule chooses by night
};

/// Families (mpm, tome, algm, ...) of which a day and a night were measured; a family without a setting
/// within the budget takes the one that loses least. Of several nights, the first.
std::vector<Tuned> tunedByDay(const EvalSummary& summary, double budget);

/// In Markdown; empty where no family has several settings by day and by night.
std::string tuningTable(const EvalSummary& summary, double budget);

constexpr double kTuningBudget = 0.005;  ///< mIoU, 0 to 1

}  // namespace mpm::cli
