// Puts operators of our own in the place of what was matched.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// Every encoder becomes one MpmEncoder; `schedule` is the backbone's. Throws Refusal where one operator
/// cannot express an encoder.
void insertEncoders(Graph& graph, const Matched& matched, const Shapes& shapes, const List<int>& schedule);

/// Moves and constants that only lay out the tokens of an encoder (patches to rows, class tokens in front,
/// position embeddings) become one MpmEmbed each.
void insertEmbeddings(Graph& graph, const Shapes& shapes, const List<int>& streams);

/// A convolution that does nothing but multiply whole patches becomes part of the MpmEmbed it feeds.
void projectInEmbeddings(Graph& graph, const Shapes& shapes);

}  // namespace mpm::models
