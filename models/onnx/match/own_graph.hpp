// Models that the converter has written.
#pragma once

#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// Whether it contains MpmEncoder (fused form), or MpmMerge or MpmRestore (layers form).
bool isFused(const Graph& graph);
bool isLayers(const Graph& graph);

/// The encoders of a graph of the fused form, read from their operators. Throws Refusal if they are invalid.
Match encodersOf(const Graph& graph, const Inferred& inferred);

/// Removes the merges from a graph of the layers form.
void dropMerges(Graph& graph, const Inferred& inferred);

/// The backbone's by its operators; the schedule else by the metadata. Throws Refusal if they are invalid.
Merging mergingOf(const Graph& graph);
/// The part of a schedule in blocks first .. end - 1.
List<int64_t> scheduleWithin(const List<int>& schedule, int64_t first, int64_t end);
void setMerging(Graph& graph, const Merging& merging);

}  // namespace mpm::models
