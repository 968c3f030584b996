// Models that went through the converter already.
#pragma once

#include "models/onnx/match.hpp"

namespace mpm::models {

bool isConverted(const Graph& graph);

/// The encoders of a converted graph, read back from their operators. Throws Refusal where a file is not
/// ours.
Matched encodersOf(const Graph& graph, const Inferred& inferred);

/// The backbone's schedule in the file.
std::vector<int> scheduleOf(const Graph& graph);
void setSchedule(Graph& graph, const std::vector<int>& schedule);

}  // namespace mpm::models
