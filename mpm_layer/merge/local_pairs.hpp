// Mutual pairs among neighbours only: for so many tokens that N^2 similarities are too many.
#pragma once

#include <memory>

#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

std::shared_ptr<const Reducer> makeLocalPairs(Parameters& parameters);

}  // namespace mpm
