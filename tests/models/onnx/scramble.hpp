// The same model under other names and in another order, since a converter must use neither.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::test {

/// Renames every node, value and initializer but inputs and outputs, lists nodes and initializers in another
/// order and swaps the operands of sums and products.
void scrambleModel(const std::string& from, const std::string& to, uint32_t seed);

}  // namespace mpm::test
