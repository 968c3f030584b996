// The shapes of a graph's values, at two batch sizes where the batch is dynamic: what differs between the two
// is the batch, and a constant that differs is one that must not be baked in.
#pragma once

#include "models/onnx/evaluate.hpp"

namespace mpm::models {

struct Shapes {
    Inferred at;     ///< the batch everything is worked out for
    Inferred other;  ///< the same with one more picture; only where `dynamic`
    bool dynamic = false;

    const Shape& of(int value) const { return at.values[value].shape(); }
    bool isBatch(int value, size_t axis) const {
        return dynamic && at.values[value].shape()[axis] != other.values[value].shape()[axis];
    }
};

}  // namespace mpm::models
