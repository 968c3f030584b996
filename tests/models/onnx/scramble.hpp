// Renames and reorders the nodes of a model. The converter must not depend on names and order.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::test {

/// Renames all nodes, values and initializers except inputs and outputs. Changes the order of nodes and
/// initializers, and swaps the operands of sums and products.
void scrambleModel(const std::string& from, const std::string& to, uint32_t seed);

}  // namespace mpm::test
