// Input sizes, and the shapes of a graph's values that follow from them, at two batch sizes if the batch is
// dynamic: an axis that differs between the two is the batch, and a constant that differs must not be folded.
#pragma once

#include <opencv2/core.hpp>

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Inputs of a graph whose first input, the image, has this shape: the others have its batch.
List<Tensor> inputsFor(const Graph& graph, const Shape& image);

/// Why an output of the graph cannot be inferred; empty if all can.
std::string problemOf(const Graph& graph, const Inferred& inferred);

struct Binding {
    List<Tensor>
        inputs;  ///< the image, and what is beside it: shapes at the batch that everything is computed for
    List<Tensor> otherInputs;  ///< with one more image; only if the batch is dynamic
    bool dynamicBatch = false;
    cv::Size size;

    Shape inputAt(int batch) const;
};

struct Shapes {
    Inferred at;     ///< at the batch that everything is computed for
    Inferred other;  ///< with one more image; only if `dynamic`
    bool dynamic = false;

    const Shape& of(int value) const { return at.values[value].shape(); }
    bool isBatch(int value, size_t axis) const {
        return dynamic && at.values[value].shape()[axis] != other.values[value].shape()[axis];
    }
};

/// Throws Refusal if an output of the graph has no shape.
Shapes inferShapes(const Graph& graph, const Binding& binding);

/// Declares the inputs and outputs as they are now.
void declarePorts(Graph& graph, const Shapes& shapes, const Binding& binding);

}  // namespace mpm::models
