// What a model's operations follow from, read from its file.
#pragma once

#include "pipeline/segment/flops.hpp"

namespace mpm::cli {

/// Throws Error(kBadInput) where the file cannot be read.
pipeline::ModelCost modelCost(const pipeline::Network& network);

}  // namespace mpm::cli
