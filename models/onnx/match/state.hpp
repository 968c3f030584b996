// The state that the passes of a conversion work on.
#pragma once

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

struct State {
    Graph graph;
    Binding binding;  ///< the inputs that the shapes belong to
    Shapes shapes;    ///< of the values that the graph had when it was matched
    Match match;
};

}  // namespace mpm::models
