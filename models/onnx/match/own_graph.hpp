// Models that went through the converter already.
#pragma once

#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// Whether it holds an MpmEncoder, or, of the layers form, MpmMerge or MpmRestore.
bool isFused(const Graph& graph);
bool isLayers(const Graph& graph);

/// The encoders of a converted graph, read back from their operators. Throws Refusal where a file is not
/// ours.
Matched encodersOf(const Graph& graph, const Inferred& inferred);

/// Takes the merges out of a graph of the layers form: every token is its own cluster.
void dropMerges(Graph& graph, const Inferred& inferred);

/// What the file says it merges before, by the backbone's operator or by its metadata.
List<int> scheduleOf(const Graph& graph);
void setSchedule(Graph& graph, const List<int>& schedule);

}  // namespace mpm::models
