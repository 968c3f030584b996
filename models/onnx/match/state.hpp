// A graph and the facts about it that the passes of a conversion need.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// A constant that the export itself resizes from another constant, such as positions of a grid other than
/// the image's.
struct ResizedTable {
    Node node;
    List<Tensor> inputs;
    Tensor result;
    int opset = 0;
};

struct State {
    Graph graph;
    Binding binding;  ///< the inputs for which `shapes` was inferred
    Shapes shapes;    ///< of the graph as it was matched, without values added later
    Match match;
    List<ResizedTable> tables;  ///< of an export, found before constants were folded
};

/// Folds the constants of an export, normalises it and finds its encoders, or reads the encoders of a
/// converted model. With `chains`, an export's backbone may have several segments. Throws Refusal, with the
/// reason, if there is no backbone.
State understand(Graph graph, const Binding& binding, bool chains = true);

/// Finds the decoders whose tokens follow row by row from the backbone's, and marks them to take the
/// backbone's merge map. Adds a note for each decoder that cannot.
void mergeDecoders(State& state, std::vector<std::string>& notes);

/// Whether any decoder takes the backbone's merge map.
bool followsMap(const State& state);

/// In a graph of the fused form, connects the map to the decoders that mergeDecoders() chose.
void connectMaps(State& state);

}  // namespace mpm::models
