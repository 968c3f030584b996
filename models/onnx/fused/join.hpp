// Operators around the encoder that are one idea in several nodes: read and written once, not once a node.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// GELU that is spelled out, with erf or with tanh, becomes one Gelu. By its values at some inputs, whatever
/// the order of its operators. Before the graph is lowered.
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph: a norm between two transposes normalises the channels where they are, and a
/// transposed convolution computes the activation behind it.
void joinLayers(Graph& graph);

/// In a lowered graph: convolutions of our own take up norms, activations and sums around them. Those that
/// give scores, boxes or a selection are kept in f32.
void joinConvolutions(Graph& graph);

}  // namespace mpm::models
