// Input sizes: what the export leaves open, and what the user asks for.
#pragma once

#include "models/onnx/convert.hpp"
#include "models/onnx/shapes.hpp"

namespace mpm::models {

struct Binding {
    List<Tensor> inputs;       ///< shapes at the batch everything is worked out for
    List<Tensor> otherInputs;  ///< with one more image; only where the batch is dynamic
    bool dynamicBatch = false;
    cv::Size size;

    Shape inputAt(int batch) const;
};

Binding bindInputs(const Graph& graph, const ConvertOptions& options, std::vector<std::string>& notes);
/// Whether the graph works at these inputs as it stands.
bool accepts(const Graph& graph, const Binding& binding);

Shapes inferShapes(const Graph& graph, const Binding& binding);

/// Declares the inputs and outputs as they are now; throws Refusal where an output has no shape.
void declarePorts(Graph& graph, const Shapes& shapes, const Binding& binding);

}  // namespace mpm::models
