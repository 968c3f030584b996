// The state that the passes of a conversion work on.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// A constant that the export resizes itself, such as positions of another grid than the image's.
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

/// Folds constants, normalises and matches an export; reads the encoders of a converted model back. The
/// result has a backbone. With `chains`, the backbone of an export may have several segments. Throws Refusal
/// with the reason if there is none.
State understand(Graph graph, const Binding& binding, bool chains = true);

/// Every decoder whose tokens follow row by row from those of the backbone gets its map. A note names each
/// decoder that cannot.
void mergeDecoders(State& state, std::vector<std::string>& notes);

/// Whether a decoder has it.
bool followsMap(const State& state);

/// In a graph of the fused form: gives the decoders chosen by mergeDecoders() the map.
void connectMaps(State& state);

}  // namespace mpm::models
