// A graph and the facts about it that the passes of a conversion need.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

/// A Resize of constants in the export, and its result. For example, such a Resize adapts position embeddings
/// of another grid to the grid of the image.
struct ResizedTable {
    Node node;
    List<Tensor> inputs;
    Tensor result;
    int opset = 0;
};

struct State {
    Graph graph;
    Binding binding;  ///< the input sizes for which `shapes` was inferred
    Shapes shapes;    ///< inferred when the encoders were matched; values added later have no shape
    Match match;
    List<ResizedTable> tables;  ///< found in an export before its constants were folded
};

/// Finds the encoders of a graph. If the graph has the form `fused`, reads the encoders from the operators.
/// Otherwise folds constants and normalises the graph first. If `chains` is true, the backbone of an export
/// may have several segments. Throws Refusal, with the reason, if there is no backbone.
State understand(Graph graph, const Binding& binding, bool chains = true);

/// Marks each decoder if every image token of its input depends only on the same token of the backbone.
/// Marked decoders take the backbone's merge map. Adds a note for each other decoder.
void mergeDecoders(State& state, std::vector<std::string>& notes);

/// Returns whether any decoder takes the backbone's merge map.
bool followsMap(const State& state);

/// In a graph of the form `fused`, connects the merge map to the decoders that mergeDecoders() marked.
void connectMaps(State& state);

}  // namespace mpm::models
