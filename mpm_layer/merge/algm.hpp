// ALGM: similar 2x2 windows merge in an early block, then a bipartite matching with a threshold that adapts
// to the image.
#pragma once

#include <memory>

#include "mpm_layer/merge/parameters.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

std::shared_ptr<const Reducer> makeAlgm(Parameters& parameters);

}  // namespace mpm
