// `mpm eval --results`: files of detections or tracks scored against the truth, without a model.
#pragma once

#include "cli/eval/options.hpp"

namespace mpm::cli {

/// @return the exit status. @throws Error
int scoreFiles(const EvalOptions& options);

}  // namespace mpm::cli
