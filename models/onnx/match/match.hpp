// Finds the transformer blocks of a normalised graph by data flow, not by names.
#pragma once

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

struct Match {
    List<EncoderSpec> encoders;  ///< in the order of the graph; those that are not decoders form a chain
    List<std::string> reasons;   ///< why an attention is not part of an encoder
    List<std::string> outside;   ///< reasons of attention that weighs rows in a product
    const EncoderSpec* backbone() const;        ///< first segment of the backbone
    List<const EncoderSpec*> segments() const;  ///< segments of the backbone, in the order of blocks
    int blocks() const;                         ///< number of blocks of the backbone
    std::string reason() const;                 ///< a line, for a graph without a backbone
};

/// `inferred` belongs to the graph. For a graph without an encoder `backbone()` is nullptr. With `chains`,
/// encoders that continue the backbone's tokens become segments of its chain, otherwise decoders.
Match findEncoders(const Graph& graph, const Inferred& inferred, bool chains);

/// Whether the graph contains MpmEncoder (fused form), or MpmMerge or MpmRestore (layers form).
bool isFused(const Graph& graph);
bool isLayers(const Graph& graph);

/// Reads the encoders of a graph of the fused form from their operators. Throws Refusal if they are invalid.
Match encodersOf(const Graph& graph, const Inferred& inferred);

/// Removes the merges from a graph of the layers form.
void dropMerges(Graph& graph, const Inferred& inferred);

/// Returns the backbone's merging from its operators, or, without operators, "mpm" with the schedule of the
/// metadata. Throws Refusal if they are invalid.
Merging mergingOf(const Graph& graph);
/// Returns the part of a schedule in blocks first to end - 1.
List<int64_t> scheduleWithin(const List<int>& schedule, int64_t first, int64_t end);
void setMerging(Graph& graph, const Merging& merging);

}  // namespace mpm::models
