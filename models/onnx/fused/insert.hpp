// Replaces matched nodes by operators of domain mpm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Replaces each encoder by an MpmEncoder; `merging` is the backbone's. Throws Refusal if a single operator
/// cannot express an encoder.
void insertEncoders(State& state, const Merging& merging);

/// Replaces nodes that only lay out the tokens of an encoder (patches to rows, class tokens in front,
/// position embeddings) by an MpmEmbed.
void insertEmbeddings(State& state);

/// Replaces Gathers whose indices the model computes by MpmGatherRows.
void pickRows(State& state);

/// Moves a convolution that only multiplies whole patches into the MpmEmbed that it feeds.
void fusePatchProjections(State& state);

/// Returns the tokens for the operator of an encoder with windows, from the embedded patches. Nodes that read
/// a tap in the image's raster order now read the tap's value of `outputs`; the tap itself is computed from
/// that value if other nodes read it. Throws Refusal if that is not possible.
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

/// Computes rotary tables for the grid `to`. `rope` holds the image rows, row-major, [heads or 1, rows *
/// columns, head size]; rows of angle 0 in front of and behind them stay. A known formula must give `rope` on
/// `from` (to 1e-5, or to the rounding of f16). Throws Refusal if none does, or if several differ on `to`.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

/// `rows` [patches, width] are position embeddings of the grid `from`. If they are the result of a table,
/// perhaps with a number added to each column, returns that table resized to the grid `to`.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

/// Outputs of a model that gives masks and classes of queries, such as MaskFormer or EoMT.
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// Turns the scores of the first output into class ids: a resize at the end also computes the argmax. With
/// queries, the masks become class ids at image size.
void outputLabels(Graph& graph);

/// Turns the first output into class ids by MpmMaskLabels, and never computes the scores, if the graph (in
/// its final form) computes the scores from masks and classes of queries. The pattern is only a guess: the
/// proof compares the labels.
bool labelQueryScores(Graph& graph);

/// Replaces a GELU of several nodes (erf or tanh) by a single Gelu. Values at some inputs identify the GELU,
/// so the order of the nodes does not matter. Call this before the graph is lowered.
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph: removes the transposes around a norm, which then normalises the channels in place, and
/// moves an activation into the transposed convolution before it.
void joinLayers(Graph& graph);

/// In a lowered graph: moves norms, activations and sums into MpmConv. In models of version 3 of the domain,
/// also moves the norms and activations behind an MpmConvTranspose into it. Convolutions that give scores,
/// boxes or a selection stay in f32.
void joinConvolutions(Graph& graph);

/// Lowers the graph. Throws Refusal, which names the node, if an operator has no equivalent.
void lower(State& state);

}  // namespace mpm::models
