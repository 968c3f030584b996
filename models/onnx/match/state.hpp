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

}  // namespace mpm::models
