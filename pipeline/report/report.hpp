// Converts the results of evaluations, benchmarks and tunings to the JSON that --json writes.
#pragma once

#include <vector>

#include "pipeline/measure/bench_rounds.hpp"
#include "pipeline/measure/counts_json.hpp"
#include "pipeline/measure/eval_summary.hpp"
#include "pipeline/tune/model_trials.hpp"

namespace mpm::pipeline {

Json evalJson(const EvalSummary& summary);

Json toJson(const BenchRow& row);
Json benchJson(const MeasureHead& head, const std::vector<BenchRow>& rows);

Json tuneJson(const MeasureHead& head, const ModelTuning& tuning, const TuneGoal& goal);

}  // namespace mpm::pipeline
