// Rows of zeros at the beginning of an MpmEmbed's table. A file omits these rows and stores their number in
// the attribute `zeros`. A graph in memory has the complete tables.
#pragma once

#include <cstdint>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Returns how many rows of the node's table a file would omit; 0 if the node is not an MpmEmbed.
int64_t zeroRows(const Graph& graph, const Node& node);
Tensor withoutRows(const Tensor& table, int64_t rows);
/// Restores the omitted rows of all tables.
void addZeroRows(Graph& graph);

}  // namespace mpm::models
