// `mpm eval --dataset coco` with a model: AP and cost of methods.
#pragma once

#include "cli/eval/options.hpp"

namespace mpm::cli {

/// Measures, or joins the counts of shards. @return the exit status. @throws Error, pipeline::MeasureError
int evalDetector(const EvalOptions& options);

}  // namespace mpm::cli
