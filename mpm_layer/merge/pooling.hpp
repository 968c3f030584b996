// Floors to compare with: pairs drawn by lot, and plain grid pooling. They look at no token.
#pragma once

#include <memory>

#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

std::shared_ptr<const Reducer> makeRandomPairs(Parameters& parameters);
std::shared_ptr<const Reducer> makeGridPooling(Parameters& parameters);

}  // namespace mpm
