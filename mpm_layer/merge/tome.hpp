// Token Merging (ToMe): in every block, the r most similar pairs of a bipartite matching on the keys.
#pragma once

#include <memory>

#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

std::shared_ptr<const Reducer> makeTome(Parameters& parameters);

}  // namespace mpm
