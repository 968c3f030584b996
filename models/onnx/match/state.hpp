// The state that the passes of a conversion work on.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// A constant that the export itself resizes, such as positions of a grid other than the image's.
struct ResizedTable {
    Node node;
    List<Tensor> inputs;
    Tensor result;
    int opset = 0;
};

struct State {
    Graph graph;
    Binding binding;  ///< the inputs that the shapes belong to
    Shapes shapes;    ///< of the values that the graph had when it was matched
    Match match;
    List<ResizedTable> tables;  ///< of an export, before it was folded
};

/// Folds constants, normalises and matches an export, or reads the encoders of a converted model. With
/// `chains`, the backbone of an export may have several segments. Throws Refusal, with the reason, if there
/// is no backbone.
State understand(Graph graph, const Binding& binding, bool chains = true);

/// Gives the backbone's merge map to every decoder whose tokens follow row by row from the backbone's tokens.
/// A note reports each decoder that cannot use the map.
void mergeDecoders(State& state, std::vector<std::string>& notes);

/// Whether a decoder has the map.
bool followsMap(const State& state);

/// In a graph of the fused form: gives the map to the decoders that mergeDecoders() chose.
void connectMaps(State& state);

}  // namespace mpm::models
