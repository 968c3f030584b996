// The steps of normalise().
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Expands Attention (opset 23), FusedMatMul and Einsum of two operands into products, softmax and moves.
/// Unsupported cases stay as they are.
void expandComposites(Graph& graph, const Inferred& inferred);

/// Replaces Gathers that cut an image into patches, as in exports of unfold, by two moves.
void cutPatches(Graph& graph, const Inferred& inferred);

/// Replaces adaptive pooling by a product. If its windows differ in size, the export has a Gather or GatherND
/// of all pixels of all windows, with masks and sums behind it. Each channel of the result is the same linear
/// function of its channel of the image: [B, C, H * W] times a constant, found by evaluating these nodes on
/// single pixels.
void fusePools(Graph& graph, const Inferred& inferred);

/// Replaces norms that an export writes step by step by a single node.
void fuseNorms(Graph& graph, const Inferred& inferred);

/// Writes g * (a + b) of two products as g * a + g * b, so that each branch of a parallel block has its own
/// scale, which becomes part of its weights. Elsewhere this costs a multiplication.
void splitScales(Graph& graph);

/// ONNX Runtime moves the Transpose of the tokens behind the first steps of their norm: x - mean(x) is
/// computed along another axis, and transposed like x. The pass makes such a norm read the transposed tokens
/// again. Returns false if there is no such norm.
bool turnMeans(Graph& graph);

/// Tokens that are reshaped between the sums of a block ([B, rows, columns, D] and [B, N, D]) keep the shape
/// of the first sum; norms and the other terms are reshaped instead. False if nothing was changed.
bool regroupSums(Graph& graph, const Inferred& inferred);

/// After folding: removes nodes without effect, fuses decomposed LayerNorms into LayerNormalization and
/// products with constant weights into `Linear` (x, weight [K, N], bias [N] or absent) of domain
/// `mpm.internal`, and expands Attention.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value that shapes and constants determine into a constant; with a second batch size, only
/// values that are the same for both sizes.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models
