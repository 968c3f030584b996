// Passes that write each operation in a single way, because exports write the same operation in several ways.
#pragma once

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Expands Attention (opset 23), FusedMatMul and Einsum of two operands into products, softmax, Reshape and
/// Transpose. Leaves unsupported cases unchanged.
void expandComposites(Graph& graph, const Inferred& inferred);

/// An exported unfold cuts an image into patches with Gathers. Replaces these Gathers with a Reshape and a
/// Transpose.
void cutPatches(Graph& graph, const Inferred& inferred);

/// Replaces adaptive pooling with a product. If the pooled areas differ in size, an export gathers the pixels
/// with Gather or GatherND, masks some pixels, and adds the others. These nodes apply the same linear
/// function to each channel, so the pass writes a product of [B, C, H * W] and a constant. To find this
/// constant, the pass evaluates the nodes on images in which a single pixel is 1 and all other pixels are 0.
void fusePools(Graph& graph, const Inferred& inferred);

/// Replaces the nodes of a norm with a single node.
void fuseNorms(Graph& graph, const Inferred& inferred);

/// Writes g * (a + b), in which a and b are products, as g * a + g * b. Each branch of a parallel block then
/// has a separate scale, which becomes part of the branch's weights. Outside of parallel blocks, a changed
/// sum costs another multiplication.
void splitScales(Graph& graph);

/// Moves the Transpose of tokens back in front of the norms. ONNX Runtime's optimiser moves this Transpose
/// behind the first step of a norm: x - mean(x) is then computed along another axis, and both x and the
/// difference are transposed. Returns false if no norm was changed.
bool turnMeans(Graph& graph);

/// Gives all sums of the tokens the shape of the first sum, and reshapes norms and other terms instead. Some
/// exports reshape tokens between the sums of a block ([B, rows, columns, D] and [B, N, D]). Returns false if
/// nothing was changed.
bool regroupSums(Graph& graph, const Inferred& inferred);

/// Removes nodes without effect, expands operators such as Attention, and writes norms as single nodes.
/// Writes products with constant weights as `Linear` of domain `mpm.internal`, with the inputs x, weight
/// [K, N] and (optional) bias [N]. fold() must be called first.
void normalise(Graph& graph, const Inferred& inferred);

/// Turns every value that depends only on shapes and constants into a constant. If `otherBatch`, the values
/// for another batch size, is given, only values that are the same for both sizes become constants.
void fold(Graph& graph, const Inferred& inferred, const Inferred* otherBatch = nullptr);

}  // namespace mpm::models
