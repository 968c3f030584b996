// The fused form: one MpmEncoder instead of the blocks of every encoder.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Inserts the operators of domain mpm. Throws Refusal if they cannot express the model.
void fuse(State& state, const Merging& merging);

/// After fuse(): the same model for other inputs. Position embeddings are resized (bicubic with antialiasing
/// as timm does, bilinear before a segmentation head, as Segmenter does), rotary tables of a known formula
/// are computed again, constants of the size follow. `notes` gets the assumptions. Throws Refusal if
/// something cannot follow.
void changeImageSize(State& state, const Binding& to, std::vector<std::string>& notes);

/// The last step: declares inputs and outputs, and writes the rest of the graph in operators of OpenCV 4.6 or
/// domain mpm. Throws Refusal that names the node if an operator has no equivalent.
void finishFused(State& state);

/// Instead of these steps, for a model that is fused already.
void updateFused(State& state, const Merging& merging);

}  // namespace mpm::models
