// A converted model is only worth having if it is the same model.
#pragma once

#include "models/onnx/graph.hpp"

namespace mpm::models {

struct Proof {
    std::string means;  ///< what computed the reference
    std::vector<int> batches;
    double worst = 0;  ///< largest difference by the largest value of its output
};

/// The model that the converted one must equal.
struct Reference {
    const Graph& graph;
    std::string path;  ///< not empty: OpenCV runs this file instead of evaluating the graph
};

/// Original against the file at `converted`, nothing merged, on random input at these batch sizes. `labels`:
/// the converted model's output 0 is the argmax of the original's. Throws Refusal where they differ.
Proof prove(const Reference& original, const std::string& converted, const std::vector<Shape>& inputs,
            bool labels);

}  // namespace mpm::models
