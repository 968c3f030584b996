// Input sizes, and the shapes of a graph's values for these sizes. If the batch is dynamic, there are shapes
// for two batch sizes: an axis whose lengths differ is a batch axis, and a value that differs must not become
// a constant.
#pragma once

#include <opencv2/core.hpp>

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Returns the inputs of the graph: an image of this shape, then the other inputs, with the batch size of the
/// image.
List<Tensor> inputsFor(const Graph& graph, const Shape& image);

/// Returns the reason why an output of the graph cannot be inferred; empty if all outputs can be inferred.
std::string problemOf(const Graph& graph, const Inferred& inferred);

struct Binding {
    List<Tensor> inputs;       ///< shapes of the image and the other inputs
    List<Tensor> otherInputs;  ///< the same shapes with one more image; only if the batch is dynamic
    bool dynamicBatch = false;
    cv::Size size;

    Shape inputAt(int batch) const;
};

struct Shapes {
    Inferred at;     ///< for Binding::inputs
    Inferred other;  ///< for Binding::otherInputs; only if `dynamic`
    bool dynamic = false;

    const Shape& of(int value) const { return at.values[value].shape(); }
    bool isBatch(int value, size_t axis) const {
        return dynamic && at.values[value].shape()[axis] != other.values[value].shape()[axis];
    }
};

/// Infers all shapes. Throws Refusal if an output of the graph has no shape.
Shapes inferShapes(const Graph& graph, const Binding& binding);

/// Declares the inputs and outputs with their current shapes.
void declarePorts(Graph& graph, const Shapes& shapes, const Binding& binding);

}  // namespace mpm::models
