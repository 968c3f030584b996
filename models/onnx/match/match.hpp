// Finds the transformer blocks of a normalised graph by the flow of its data, never by names.
#pragma once

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

struct Matched {
    List<Encoder> encoders;        ///< in the order of the graph; at most one is not a decoder
    List<std::string> complaints;  ///< why attention that is there is not part of an encoder
    const Encoder* backbone() const;
    std::string complaint() const;  ///< one line for a graph without a backbone
};

/// `inferred` belongs to the graph. Throws nothing for graphs without an encoder: `backbone()` is nullptr
/// then.
Matched findEncoders(const Graph& graph, const Inferred& inferred);

}  // namespace mpm::models
