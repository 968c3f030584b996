// Replaces what was matched by operators of domain mpm.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Every encoder becomes one MpmEncoder; `merging` is the backbone's. Throws Refusal if one operator cannot
/// express an encoder.
void insertEncoders(State& state, const Merging& merging);

/// Nodes that only lay out the tokens of an encoder (patches to rows, class tokens in front, position
/// embeddings) become one MpmEmbed each.
void insertEmbeddings(State& state);

/// Gathers whose indices the model computes become MpmGatherRows.
void pickRows(State& state);

/// A convolution that only multiplies whole patches becomes part of the MpmEmbed that it feeds.
void fusePatchProjections(State& state);

}  // namespace mpm::models
