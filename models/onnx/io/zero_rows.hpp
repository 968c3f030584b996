// Rows of zeros in front of an MpmEmbed's table: the attribute `zeros` of a file stands for these rows. A
// graph in memory has whole tables.
#pragma once

#include <cstdint>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Returns how many rows of the node's table a file leaves out; 0 if the node is no MpmEmbed.
int64_t zeroRows(const Graph& graph, const Node& node);
Tensor withoutRows(const Tensor& table, int64_t rows);
/// Adds the rows that a file left out to all tables.
void addZeroRows(Graph& graph);

}  // namespace mpm::models
