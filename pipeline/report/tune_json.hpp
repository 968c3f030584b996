// The result of tuning as JSON: the form of `mpm tune --json`.
#pragma once

#include "pipeline/measure/counts_json.hpp"
#include "pipeline/tune/model_trials.hpp"

namespace mpm::pipeline {

Json tuneJson(const MeasureHead& head, const ModelTuning& tuning, const TuneGoal& goal);

}  // namespace mpm::pipeline
