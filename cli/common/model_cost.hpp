// Sizes that a network's operations follow from.
#pragma once

#include "pipeline/segment/flops.hpp"

namespace mpm::cli {

/// Read from the network's file. Throws Error(kBadInput).
pipeline::ModelCost modelCost(const pipeline::Network& network);

}  // namespace mpm::cli
