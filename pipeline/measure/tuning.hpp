// Each method's setting as a user would choose it by day, and the result by night.
#pragma once

#include <string>
#include <vector>

#include "pipeline/measure/eval_summary.hpp"

namespace mpm::pipeline {

/// A method family, tuned: the fewest operations at which mIoU by day falls by no more than the budget.
struct Tuned {
    const EvalRow* day;    ///< the chosen setting
    const EvalRow* night;  ///< the same setting by night
    const EvalRow* best;   ///< the setting that the same rule chooses by night
};

constexpr double kTuningBudget = 0.005;  ///< mIoU, 0 to 1

/// Families (mpm, tome, algm, ...) measured by day and by night; a family without a setting within the budget
/// uses the setting that loses least. If there are several nights, the first. Empty if no family has several
/// settings.
std::vector<Tuned> tunedByDay(const EvalSummary& summary, double budget = kTuningBudget);

}  // namespace mpm::pipeline
