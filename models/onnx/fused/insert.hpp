// The steps that replace matched nodes by operators of domain mpm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/match/state.hpp"

namespace mpm::models {

/// Replaces each encoder by an MpmEncoder. The backbone merges as in `merging`. Throws Refusal if an
/// MpmEncoder cannot express an encoder.
void insertEncoders(State& state, const Merging& merging);

/// Writes MpmEmbed operators in place of the nodes that turn patches into rows, put special tokens in front
/// and add position embeddings.
void insertEmbeddings(State& state);

/// Replaces each gather with computed indices by an MpmGatherRows.
void pickRows(State& state);

/// Moves each convolution over patches that do not overlap into the MpmEmbed that reads the result.
void fusePatchProjections(State& state);

/// Connects the MpmEncoder of an encoder with windows. Returns the operator's input tokens. `outputs`: the
/// operator's output for each tap. If a value of the export has the image tokens of a tap in raster order,
/// replaces the value by this output. If a node needs the tokens in the order of the export, adds nodes
/// that restore this order, or throws Refusal if this is impossible.
int connectWindows(State& state, const EncoderSpec& encoder, const List<int>& outputs);

struct PatchGrid {
    int64_t rows = 0, columns = 0;
    int64_t count() const { return elementCount({rows, columns}); }
};

struct ResizedRope {
    Rope rope;
    std::string note;  ///< for the user, if several formulas fit; else empty
};

/// Computes rotary tables for the grid `to`. `rope` has the tables [heads or 1, rows, head size] of the grid
/// `from`. Keeps rows of angle 0 before and after the rows of image tokens. Throws Refusal if no known
/// formula gives `rope` (to about 1e-5, or the rounding of f16). Formulas that all give `rope` may give
/// different tables for `to`. If only the scale of patch centres differs between these formulas, returns a
/// note, else throws Refusal.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

/// `rows`: the position embeddings [patches, width] of the grid `from`. If a Resize of the export gave
/// `rows`, perhaps with a number added to each column, computes the rows for the grid `to` in the same way;
/// else returns nothing.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

/// Indices of the outputs that have masks and classes of queries (MaskFormer, EoMT).
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// Replaces the scores of output 0 by class ids. If a resize gives the scores, the resize also computes the
/// argmax. If the outputs are masks and classes of queries, replaces the masks by class ids at image size.
void outputLabels(Graph& graph);

/// If the scores of output 0 come from masks and classes of queries, replaces the scores by class ids from an
/// MpmMaskLabels. Checks only the kinds of nodes, because the proof compares the labels.
bool labelQueryScores(Graph& graph);

/// Replaces the nodes of each GELU (with an Erf or Tanh) by a single Gelu. Recognises a GELU by evaluating
/// its nodes at some inputs, so the order of nodes does not matter. Must be called before lower().
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph, removes the transposes that put channels last for norms, linear layers and functions.
/// These operators then work on axis 1. Moves activations into the transposed convolutions in front of them
/// and, if the graph needs domain version 3, into linear layers.
void joinLayers(Graph& graph);

/// Returns the activation that a layer in front of the node can compute instead; empty if there is none.
std::string activationOf(const Node& node);

/// In a lowered graph, moves norms, activations and sums into the MpmConv in front of them. If the graph
/// needs domain version 3, also moves norms and activations into an MpmConvTranspose. If a convolution or
/// linear layer gives scores, boxes or a selection, sets the layer to f32. In a detector, sets narrow
/// encoders to f32 if the precision is i8.
void joinConvolutions(Graph& graph);

/// If an MpmResize enlarges channels of a convolution's input, an MpmConv with the attribute `size` reads
/// these channels before they are enlarged, multiplies them, and enlarges the products. Must be called after
/// joinConvolutions().
void enlargeLater(Graph& graph, const Shapes& shapes);

/// Writes all nodes as operators of OpenCV 4.6 or domain mpm. If an operator has no equivalent, throws
/// Refusal, which names the node.
void lower(State& state);

}  // namespace mpm::models
