// Reads ONNX files. Every size in a file is checked before memory is allocated for it.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Local functions are inlined. Both branches of every If become part of the graph, and a `Select` of domain
/// `mpm.internal` picks one. Throws Refusal with a line if the file is not a valid model, BudgetError if it
/// exceeds the budget of the current job.
Graph readModel(const std::string& path);

/// The same for a file that the converter has written; it does not raise the limits.
Graph readOwnModel(const std::string& path);

/// The same from memory. External data is looked up beside the file `path`, or rejected if that is empty.
Graph readModel(const void* bytes, size_t size, const std::string& path = {});

std::string sha256OfFile(const std::string& path);

}  // namespace mpm::models
