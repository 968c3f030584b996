// The writer of the form `fused`, in which an MpmEncoder replaces the blocks of each encoder.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Inserts the operators of domain mpm. Throws Refusal if they cannot express the model.
void fuse(State& state, const Merging& merging);

/// Adapts the model to other inputs, after fuse(). Resizes position embeddings (bicubic with antialiasing as
/// in timm, or bilinear before a segmentation head, as in Segmenter), computes rotary tables of a known
/// formula again, and changes constants that contain the size. Adds the assumptions to `notes`. Throws
/// Refusal if something cannot be adapted.
void changeImageSize(State& state, const Binding& to, std::vector<std::string>& notes);

/// Runs last: declares inputs and outputs, and writes the rest of the graph in operators of OpenCV 4.6 or
/// domain mpm. Throws Refusal, which names the node, if an operator has no equivalent.
void finishFused(State& state);

/// Changes the merging of a model that is already fused. Called instead of the functions above.
void updateFused(State& state, const Merging& merging);

}  // namespace mpm::models
