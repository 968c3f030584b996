// The writer of the form `fused`, in which an MpmEncoder replaces the blocks of each encoder.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Writes encoders and embeddings as operators of the domain mpm. Throws Refusal if these operators cannot
/// express an encoder.
void fuse(State& state, const Merging& merging);

/// Adapts the model to the input size of `to`. Must be called after fuse(). Resizes position embeddings with
/// the Resize of the export. If no Resize is known, models with scores for each pixel resize bilinearly (as
/// Segmenter does), all others bicubically with antialiasing (as timm does). Recomputes rotary tables that
/// follow a known formula, and changes constants that contain the size. Adds assumptions to `notes`. Throws
/// Refusal if a node cannot be adapted.
void changeImageSize(State& state, const Binding& to, std::vector<std::string>& notes);

/// Must be called last. Declares inputs and outputs, and writes all nodes as operators of OpenCV 4.6 or
/// domain mpm. If an operator has no equivalent, throws a Refusal that names the node.
void finishFused(State& state);

/// Changes the merging of a model of the form `fused`. Must be called instead of the functions above.
void updateFused(State& state, const Merging& merging);

}  // namespace mpm::models
