// An evaluation as JSON: the form of `mpm eval --json`.
#pragma once

#include "pipeline/measure/counts_json.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::pipeline {

Json evalJson(const EvalSummary& summary);

}  // namespace mpm::pipeline
