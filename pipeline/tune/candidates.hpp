// The methods and blocks that tuning tries.
#pragma once

#include "pipeline/measure/method.hpp"

namespace mpm::pipeline {

/// For an encoder with so many blocks and image tokens. The likeliest come first, in case there is time for a
/// few only. Each merges before at least one block.
std::vector<Method> tuneCandidates(int blocks, int tokens);

}  // namespace mpm::pipeline
