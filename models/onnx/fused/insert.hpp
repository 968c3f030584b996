// Replaces what was matched by operators of domain mpm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
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

/// The tokens that the operator of an encoder with windows reads, from the embedded patches. What nodes read
/// of a tap in the image's raster order comes from the operator's output for it, of `outputs`; the tap itself
/// too, if others read it. Throws Refusal if that is not possible.
int connectWindows(State& state, const EncoderSpec& encoder, const List<int>& outputs);

/// Rows and columns of patches.
struct PatchGrid {
    int64_t rows = 0, columns = 0;
    int64_t count() const { return elementCount({rows, columns}); }
};

struct ResizedRope {
    Rope rope;
    std::string note;  ///< for the user, if the values leave a choice; else empty
};

/// `rope` holds the rows of the image, row-major, [heads or 1, rows * columns, head size]; in front of and
/// behind them may be rows of angle 0, which stay. The formula must give its values on `from` (to 1e-5, or to
/// the rounding of f16). Throws Refusal if no known formula does, or if several do that differ on `to`.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

/// `rows` [patches, width] are position embeddings of the grid `from`. If they are the result of one of the
/// tables, perhaps with a number added to each column: that table resized to the grid `to`.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

/// Outputs of a model that gives masks and classes of queries, as MaskFormer and EoMT do.
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// The first output becomes class ids instead of scores: a resize at the end also computes the argmax. With
/// queries, the masks become class ids at the size of the image.
void outputLabels(Graph& graph);

/// If the first output has scores that a graph in its final form computes from masks and classes of queries,
/// it becomes class ids by MpmMaskLabels, and the scores are never computed. The pattern only proposes: the
/// proof compares the labels.
bool labelQueryScores(Graph& graph);

/// A GELU written in several nodes (erf or tanh) becomes a single Gelu. Values at some inputs identify
/// it, so the order of the nodes does not matter. Call it before the graph is lowered.
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph: a norm between two transposes normalises the channels where they are, and a
/// transposed convolution computes the activation behind it.
void joinLayers(Graph& graph);

/// In a lowered graph: convolutions of our own take up norms, activations and sums around them; transposed
/// ones too, but for sums and what is before them, in models of version 3 of the domain. Those that give
/// scores, boxes or a selection are kept in f32.
void joinConvolutions(Graph& graph);

/// Throws Refusal that names the node if an operator has no equivalent.
void lower(State& state);

}  // namespace mpm::models
