// ONNX files to graphs. Everything a file claims is checked before memory is asked for it.
#pragma once

#include <string>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// Local functions are inlined, both branches of every If stand in the graph with a `Select` of domain
/// `mpm.internal` that picks one. Throws Refusal with one line on anything that is not a sound model,
/// BudgetError where it takes more than the job in hand may spend.
Graph readModel(const std::string& path);

/// The same of a file that the converter wrote itself: it raises no limits.
Graph readOwnModel(const std::string& path);

/// The same from memory; external data is looked for beside the file `path`, nowhere where it is empty.
Graph readModel(const void* bytes, size_t size, const std::string& path = {});

}  // namespace mpm::models
