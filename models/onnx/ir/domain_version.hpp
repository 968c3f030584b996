// Which version of the domain `mpm` a model needs.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

constexpr int kLatestDomainVersion = 3;

/// The lowest version that has all operators, inputs and attributes of the graph.
int domainVersion(const Graph& graph);

}  // namespace mpm::models
