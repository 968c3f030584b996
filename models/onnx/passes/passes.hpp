// The passes that write the different spellings of an operation in a single way.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Expands Attention (opset 23), FusedMatMul and Einsum of two operands into products, softmax, Reshape and
/// Transpose. Does not change unsupported cases.
void expandComposites(Graph& graph, const Inferred& inferred);

/// Replaces Gathers that cut an image into patches, as in exports of unfold, by a Reshape and a Transpose.
void cutPatches(Graph& graph, const Inferred& inferred);

/// Replaces adaptive pooling by a product. If the pooled areas differ in size, an export has a Gather or
/// GatherND of the pixels of all areas, then masks and sums. These nodes apply the same linear function to
/// each channel, so the pass writes [B, C, H * W] times a constant, which it finds by evaluating the nodes on
/// single pixels.
void fusePools(Graph& graph, const Inferred& inferred);

/// Replaces norms that an export writes step by step by a single node.
void fuseNorms(Graph& graph, const Inferred& inferred);

/// Writes g * (a + b), in which a and b are products, as g * a + g * b. Each branch of a parallel block then
/// has its own scale, which becomes part of the branch's weights. Elsewhere this costs a multiplication.
void splitScales(Graph& graph);

/// Makes norms read transposed tokens again. ONNX Runtime's optimiser moves the Transpose of the tokens
/// behind the first step of a norm: it computes x - mean(x) along another axis, and transposes both x and
/// this result. Returns false if there is no such norm.
bool turnMeans(Graph& graph);

/// Keeps tokens in the shape of the first sum of a block, if an export reshapes tokens between sums ([B,
/// rows, columns, D] and [B, N, D]): reshapes norms and the other terms instead. Returns false if nothing was
/// changed.
bool regroupSums(Graph& graph, const Inferred& inferred);

/// Removes nodes without effect, expands operators such as Attention, writes norms as single nodes, and
/// writes products with constant weights as `Linear` (x, weight [K, N], bias [N] or absent) of domain
/// `mpm.internal`. The graph must have been folded.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value that shapes and constants determine into a constant. With `otherBatch`, the values for
/// another batch size, only values that are the same for both sizes become constants.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models
