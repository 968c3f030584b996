// The search for encoders in a graph after normalise(). Follows the data flow and ignores names.
#pragma once

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

struct Match {
    List<EncoderSpec> encoders;           ///< in graph order; those that are not decoders form the backbone
    List<std::string> reasons;            ///< why attention or a block does not match
    List<std::string> outside;            ///< description of each attention outside of all encoders
    const EncoderSpec* backbone() const;  ///< the first segment of the backbone, or nullptr
    List<const EncoderSpec*> segments() const;  ///< segments of the backbone, in the order of blocks
    int blocks() const;
    std::string reason() const;  ///< why the graph has no backbone, in a single line
};

/// Finds the encoders of `graph`. `inferred` has the graph's shapes and constants. If `chains` is true, the
/// encoders that continue the backbone's tokens become segments of the backbone, else decoders.
Match findEncoders(const Graph& graph, const Inferred& inferred, bool chains);

/// isFused() returns whether the graph has the form `fused` (contains an MpmEncoder), isLayers() whether the
/// graph has the form `layers` (contains an MpmMerge or MpmRestore, but no MpmEncoder).
bool isFused(const Graph& graph);
bool isLayers(const Graph& graph);

/// Reads the encoders of a graph of the form `fused` from its operators. Throws Refusal if the operators are
/// invalid.
Match encodersOf(const Graph& graph, const Inferred& inferred);

/// Removes the merges from a graph of the form `layers`.
void dropMerges(Graph& graph, const Inferred& inferred);

/// Returns the method and the schedule of the backbone's operators. If the graph has no such operators,
/// returns "mpm" and the schedule in the metadata. Throws Refusal if the operators or metadata are invalid.
Merging mergingOf(const Graph& graph);
/// Returns the blocks of `schedule` that are in the range from `first` to `end` - 1.
List<int64_t> scheduleWithin(const List<int>& schedule, int64_t first, int64_t end);
void setMerging(Graph& graph, const Merging& merging);

}  // namespace mpm::models
