// The steps of normalise().
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Attention (opset 23) and Einsum of two operands become products, softmax and moves. Others stay
/// as they are.
void expandComposites(Graph& graph, const Inferred& inferred);

/// Gathers that cut an image into patches, as unfold is exported, become two moves.
void cutPatches(Graph& graph, const Inferred& inferred);

/// Adaptive pooling whose windows differ in size is exported as a Gather or GatherND of all pixels of all
/// windows, with masks and sums behind it. Each channel of the result is the same linear function of its
/// channel of the image, which is found by evaluating those nodes on single pixels: [B, C, H * W] times a
/// constant.
void fusePools(Graph& graph, const Inferred& inferred);

/// Norms that an export has written step by step become one node.
void fuseNorms(Graph& graph, const Inferred& inferred);

/// g * (a + b) of two products becomes g * a + g * b, so that each branch of a parallel block has a scale of
/// its own, which its weights take in. Elsewhere it costs one multiplication.
void splitScales(Graph& graph);

/// ONNX Runtime moves the Transpose of the tokens behind the first steps of their norm: x - mean(x) is
/// taken along another axis, and transposed like x. The pass makes such a norm read the transposed tokens
/// again. Returns false if there is none.
bool turnMeans(Graph& graph);

/// Tokens that are reshaped between the sums of a block ([B, rows, columns, D] and [B, N, D]) keep the shape
/// of the first sum; norms and the other terms are reshaped instead. False if nothing was changed.
bool regroupSums(Graph& graph, const Inferred& inferred);

/// After folding: removes nodes without effect, fuses decomposed LayerNorms into LayerNormalization and
/// products with constant weights into `Linear` (x, weight [K, N], bias [N] or absent) of domain
/// `mpm.internal`, and expands Attention.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value known from shapes and constants into a constant; with a second batch size, only if both
/// agree.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models
