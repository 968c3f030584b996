// The fused form: an MpmEncoder replaces the blocks of each encoder.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Inserts the operators of domain mpm. Throws Refusal if they cannot express the model.
void fuse(State& state, const Merging& merging);

/// Adapts the model to other inputs, after fuse(). Position embeddings are resized (bicubic with antialiasing
/// like timm, or bilinear before a segmentation head, like Segmenter), rotary tables of a known formula are
/// computed again, constants that hold the size are changed. `notes` gets the assumptions. Throws Refusal if
/// something cannot be adapted.
void changeImageSize(State& state, const Binding& to, std::vector<std::string>& notes);

/// The last step: declares inputs and outputs, and writes the rest of the graph in operators of OpenCV 4.6 or
/// domain mpm. Throws Refusal, which names the node, if an operator has no equivalent.
void finishFused(State& state);

/// To be called instead of these steps if the model is already fused.
void updateFused(State& state, const Merging& merging);

}  // namespace mpm::models
