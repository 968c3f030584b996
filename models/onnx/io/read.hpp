// The reader of ONNX files. Every size in a file is checked before memory of this size is allocated.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Reads a model and inlines its local functions. Both branches of every If become part of the graph, and a
/// `Select` of domain `mpm.internal` picks the result of a branch. Throws Refusal if the file is not a valid
/// model, and BudgetError if the model exceeds the budget of the current job.
Graph readModel(const std::string& path);

/// Reads a file that the converter has written. Unlike readModel(), does not raise the memory and time limits
/// of the job according to the size of the file.
Graph readOwnModel(const std::string& path);

/// Reads a model from memory. External data must be next to the file `path`; if `path` is empty, external
/// data is rejected.
Graph readModel(const void* bytes, size_t size, const std::string& path = {});

std::string sha256OfFile(const std::string& path);

}  // namespace mpm::models
