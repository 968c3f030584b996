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

/// Replaces each encoder by an MpmEncoder, the backbone with `merging`. Throws Refusal if a single operator
/// cannot express an encoder.
void insertEncoders(State& state, const Merging& merging);

/// Replaces nodes that only arrange the tokens of an encoder (patches as rows, class tokens in front,
/// position embeddings) by an MpmEmbed.
void insertEmbeddings(State& state);

/// Replaces Gathers whose indices the model computes by MpmGatherRows.
void pickRows(State& state);

/// Moves a convolution that only multiplies whole patches into the MpmEmbed that reads its result.
void fusePatchProjections(State& state);

/// Computes the tokens that the operator of an encoder with windows reads, from the embedded patches.
/// `outputs` has the operator's output for each tap. Nodes that read a tap in the image's raster order now
/// read the output. If other nodes read the tap, computes it from the output. Throws Refusal if that is not
/// possible.
int connectWindows(State& state, const EncoderSpec& encoder, const List<int>& outputs);

struct PatchGrid {
    int64_t rows = 0, columns = 0;
    int64_t count() const { return elementCount({rows, columns}); }
};

struct ResizedRope {
    Rope rope;
    std::string note;  ///< for the user, if several formulas fit; else empty
};

/// Computes rotary tables for the grid `to` from `rope`, [heads or 1, rows * columns, head size], of the grid
/// `from`. Keeps rows of angle 0 in front of and behind the image rows. Throws Refusal unless a known formula
/// gives `rope` (to 1e-5, or to the rounding of f16), or if several do but differ on `to`. If they differ
/// only in the scale of patch centres, adds a note instead.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

/// `rows` [patches, width] are position embeddings of the grid `from`. If a Resize of the export computed
/// them, perhaps with a number then added to each column, returns the result of this Resize for the grid
/// `to`.
std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to);

/// Outputs of a model that gives masks and classes of queries, such as MaskFormer or EoMT.
struct QueryOutputs {
    size_t masks = 0;    ///< [B, Q, rows, columns]
    size_t classes = 0;  ///< [B, Q, C + 1]
};
std::optional<QueryOutputs> queryOutputs(const Graph& graph);

/// Turns the scores of the first output into class ids. A resize at the end also computes the argmax. If
/// there are queries, turns their masks into class ids at image size.
void outputLabels(Graph& graph);

/// Turns the first output into class ids by MpmMaskLabels, without computing scores, if the finished graph
/// computes them from masks and classes of queries. The pattern is only a guess, but the proof compares the
/// labels.
bool labelQueryScores(Graph& graph);

/// Replaces each GELU of several nodes (erf or tanh) by a single Gelu. Identifies a GELU by its values at
/// some inputs, so the order of the nodes does not matter. Must be called before lower().
void joinActivations(Graph& graph, const Shapes& shapes);

/// In a lowered graph: removes the transposes around norms, linear layers and functions of pixels, which then
/// work on axis 1, and moves an activation into the transposed convolution before it.
void joinLayers(Graph& graph);

/// In a lowered graph: moves norms, activations and sums into MpmConv. If the graph needs domain version 3,
/// also moves norms and activations behind an MpmConvTranspose into it. Convolutions that give scores, boxes
/// or a selection are set to f32.
void joinConvolutions(Graph& graph);

/// Writes the graph in operators of OpenCV 4.6 or domain mpm. Throws Refusal, which names the node, if an
/// operator has no equivalent.
void lower(State& state);

}  // namespace mpm::models
