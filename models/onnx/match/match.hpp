// Finds the transformer blocks of a normalised graph by data flow, not by names.
#pragma once

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

struct Match {
    List<EncoderSpec> encoders;  ///< in the order of the graph; at most one is not a decoder
    List<std::string> reasons;   ///< why an attention is not part of an encoder
    const EncoderSpec* backbone() const;
    std::string reason() const;  ///< one line, for a graph without a backbone
};

/// `inferred` belongs to the graph. For a graph without an encoder `backbone()` is nullptr.
Match findEncoders(const Graph& graph, const Inferred& inferred);

}  // namespace mpm::models
