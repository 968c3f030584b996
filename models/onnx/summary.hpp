// What a matched model is, in words and numbers.
#pragma once

#include "models/onnx/conversion.hpp"
#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

void summarise(const Graph& graph, const Shapes& shapes, const Matched& matched, Conversion& conversion);

std::string decoderOf(const Matched& matched, const Graph& graph);

/// Operations of an encoder's blocks for one picture; `tokens` with the special ones, by block.
double encoderGflops(const Encoder& encoder, const std::vector<double>& tokens);

}  // namespace mpm::models
