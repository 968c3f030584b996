// The steps that replace matched nodes with operators of the domain mpm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Replaces each encoder with an MpmEncoder. The backbone merges as in `merging`. Throws Refusal if an
/// MpmEncoder cannot express an encoder.
void insertEncoders(State& state, const Merging& merging);

/// Replaces nodes with MpmEmbed operators. An MpmEmbed turns patches into rows, puts special tokens in front
/// of the rows, and adds position embeddings.
void insertEmbeddings(State& state);

/// If the indices of a gather are computed, replaces the gather with an MpmGatherRows.
void pickRows(State& state);

/// Moves each convolution whose patches do not overlap into the MpmEmbed that reads the convolution's result.
void fusePatchProjections(State& state);

/// Connects the MpmEncoder of an encoder with windows. Returns the operator's input tokens. `outputs`: the
/// operator's output for each tap. If a value of the export contains a tap's image tokens in raster order,
/// the tap's output replaces the value. If a node needs the tokens in the export's order, adds nodes that
/// restore the order. If the order cannot be restored, throws Refusal.
int connectWindows(State& state, const EncoderSpec& encoder, const List<int>& outputs);

struct PatchGrid {
    int64_t rows = 0, columns = 0;
    int64_t count() const { return elementCount({rows, columns}); }
};

struct ResizedRope {
    Rope rope;
    std::string note;  ///< for the user, if formulas that fit give different tables; else empty
};

/// Computes rotary tables for the grid `to`. `rope` has the tables [heads or 1, rows, head size] of the grid
/// `from`. Keeps rows of angle 0 in front of and behind the rows of image tokens. Throws Refusal if no known
/// formula gives `rope` (within about 1e-5, or within the rounding of f16). Several formulas may give `rope`,
/// but different tables for `to`. If only the scale of patch centres differs between these formulas, returns
/// a note. Otherwise throws Refusal.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

/// Computes position embeddings for the grid `to` with the Resize of the export that gave `rows`, the
/// position embeddings [patches, width] of the grid `from`. After the Resize, the export may have added a
/// number to each column. Returns nothing if no Resize gave `rows`.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

/// Indices of the outputs that contain masks and classes of queries (MaskFormer, EoMT).
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// Replaces the scores of output 0 with class ids. If a resize gives the scores, the resize also computes the
/// argmax. If the outputs are masks and classes of queries, replaces the masks with class ids at image size.
void outputLabels(Graph& graph);

/// If the scores of output 0 come from masks and classes of queries, replaces the scores with class ids from
/// an MpmMaskLabels. Checks the nodes but not all shapes, because the Prover later compares the labels.
bool labelQueryScores(Graph& graph);

/// Replaces the nodes of each GELU, among them an Erf or a Tanh, with a single Gelu. Evaluates nodes at
/// some inputs to recognise a GELU, so the order of the nodes does not matter. Must be called before lower().
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph, removes the transposes that put channels last for norms, linear layers and functions.
/// These operators then work on axis 1. Moves an activation into the transposed convolution in front of it
/// or, if the graph needs domain version 3, into the linear layer in front of it.
void joinLayers(Graph& graph);

/// Returns the activation that a layer in front of the node can compute instead; empty if there is none.
std::string activationOf(const Node& node);

/// In a lowered graph, moves norms, activations and sums into the MpmConv in front of them. If the graph
/// needs domain version 3, also moves norms and activations into an MpmConvTranspose. If a convolution or
/// linear layer gives scores, boxes or a selection, sets the layer to f32. In a detector, limits int8 in the
/// encoders.
void joinConvolutions(Graph& graph);

/// If an MpmResize enlarges channels of a convolution's input, writes an MpmConv with the attribute `size`.
/// This MpmConv multiplies the channels before the enlargement, and then enlarges the products. Must be
/// called after joinConvolutions().
void enlargeLater(Graph& graph, const Shapes& shapes);

/// Writes all nodes as operators of OpenCV 4.6 or domain mpm. If an operator has no equivalent, throws a
/// Refusal that names the node.
void lower(State& state);

}  // namespace mpm::models
