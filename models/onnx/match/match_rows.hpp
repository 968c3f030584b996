// Shared by the matchers: the row of the residual stream that a row of a tensor belongs to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {

/// Why a part of the graph does not match. Caught inside the matchers.
struct Mismatch {
    std::string reason;
    bool masked = false;    ///< the image decides which keys a token attends to
    bool relative = false;  ///< its scores contain relative positions
};

/// An attention that is not part of an encoder.
struct Unmatched {
    int value = -1;  ///< its probabilities
    Mismatch why;
};

class RowMatcher {
public:
    RowMatcher(const Graph& graph, const Inferred& inferred);

    const Graph& graph() const { return m_graph; }
    const Inferred& inferred() const { return m_inferred; }
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }
    const List<int>& usersOf(int value) const { return m_users[value]; }
    enum class Step { Found, Follow, Skip };
    /// The first node after `value` that `visit` finds, beyond those it follows; kAbsent if there is none.
    int downstream(int value, const std::function<Step(int node)>& visit) const;
    /// All values that a value is computed from, and itself.
    std::set<int> upstream(int value) const;
    /// A sum or choice by which a comparison that depends on the image drops scores.
    bool isMask(const Node& node) const;
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    bool isNorm(const Node* node) const;
    std::string describe(int value) const;

    Norm normOf(const Node& node) const;
    Dense denseOf(const Node& linear) const { return models::denseOf(m_graph, linear); }

    static constexpr int32_t kPadded = -1;
    struct Normed {
        int norm = kAbsent;  ///< node
        List<int32_t> rows;  ///< row of the norm's input by row of the value; kPadded for a row of zeros
    };
    /// A value that is a norm's result, its rows perhaps in another order.
    Normed normBehind(int value) const;

    struct Branch {
        int linear = kAbsent;          ///< node; absent if several layers together are one
        int input = kAbsent;           ///< value that the layer reads
        Dense dense;                   ///< its weights
        List<int32_t> rows;            ///< row of the linear's result by row of the value
        List<float> factor, constant;  ///< by column
    };
    /// A value that is a Linear's result, perhaps scaled and shifted by column, rows perhaps in another
    /// order. Several layers that read the same rows may be joined to it.
    Branch linearBehind(int value) const;

private:
    List<int32_t> rowNumbers(int value) const;
    Branch branchOf(int value, const Trace& traced) const;

    const Graph& m_graph;
    const Inferred& m_inferred;
    List<List<int>> m_users;
    List<char> m_isOutput;
};

bool close(float a, float b);  ///< equal up to rounding of f32
bool close(const Tensor& a, const Tensor& b);

/// Noise from -scale to scale in the shape of a tensor; zeros if it has integers.
Tensor noiseLike(const Tensor& shape, uint32_t seed, float scale = 1);

/// The backbone is the longest of the encoders that read the image and no other encoder; with `chains` also
/// those that continue its tokens. All others decode. Throws Refusal if merging would stop half way.
void chooseBackbone(const RowMatcher& rows, const List<Unmatched>& unmatched, bool chains,
                    List<EncoderSpec>& encoders);

/// Whether the probabilities weigh rows in a product, as attention does; deformable attention does not.
bool isAttention(const RowMatcher& rows, int probabilities);

/// Why one operator, which has one of each of these for all its blocks, cannot hold both blocks; empty if it
/// can.
std::string difference(const Block& a, const Block& b);

bool sameValues(const Tensor& a, const Tensor& b);  ///< also if both have none

/// Rows in front of and behind the image tokens.
struct OtherRows {
    int special = 0;
    int trailing = 0;
};

/// If the image tokens of `next` are those of `segment` in order, perhaps each with something added.
std::optional<OtherRows> continuationOf(const RowMatcher& rows, const EncoderSpec& segment,
                                        const EncoderSpec& next);

/// Where the rows of an encoder's stream come from.
struct Embedding {
    static constexpr int32_t kSpecial = -1;

    int source = kAbsent;
    bool channelsLast = false;
    int64_t gridRows = 0, gridColumns = 0;
    List<int32_t> image;  ///< by row; of special ones kSpecial
    List<int32_t> token;  ///< by row, in raster order of its image
    Terms terms;
    List<int32_t> termRow;  ///< row of the terms by row of the stream
    List<Norm> norms;       ///< the last one first
};

/// Follows the rows of the stream back to the embedded patches, through norms of whole rows. Throws Mismatch.
Embedding embeddingOf(const RowMatcher& rows, const EncoderSpec& encoder);

/// q k^T, scaled, with or without a bias per key.
struct Scores {
    int product = kAbsent;  ///< the MatMul, a node
    float scale = 1;
    Tensor keyBias;
};

/// Throws Mismatch.
Scores scoresOf(const RowMatcher& rows, const Node& softmax);

/// Whether a node keeps the last two axes.
bool keepsMatrix(const RowMatcher& rows, const Node& node);

/// An operand of attention's products: `groups` (images x heads) matrices of tokens x size.
struct HeadView {
    int linear = kAbsent;  ///< node that computes it
    int norm = kAbsent;    ///< norm over a head in between; optional
    int64_t groups = 0, tokens = 0, size = 0;
    List<int32_t> rows;     ///< [groups, tokens] row of the linear's result
    List<int32_t> columns;  ///< [groups, size] column of the linear's result
    List<float> bias;       ///< [groups, size] added in between, before the factor
    float factor = 1;       ///< multiplied in between
    bool rotated = false;
    List<float> cos, sin;   ///< [groups, tokens, size] where rotated: x cos + partner sin
    List<int32_t> partner;  ///< [groups, size] component it is rotated with
};

HeadView viewHeads(const RowMatcher& rows, int value, bool transposed);

/// One weight with the columns of all views, head by head; the last view's are multiplied by `lastFactor`.
Dense joinHeads(const RowMatcher& rows, const List<const HeadView*>& views, const List<int64_t>& groups,
                float lastFactor);

/// The tables of these groups (the heads of an image); one table if all heads share it.
Rope ropeOf(const HeadView& view, const List<int64_t>& groups);

/// Values of the graph. With an MLP beside attention the sum has three terms, in any order.
struct Residual {
    int branch = kAbsent;     ///< attention's term; absent if there is no such sum
    int middle = kAbsent;     ///< the sum of two terms
    int mlpBranch = kAbsent;  ///< the MLP's term, if the sum of three is complete without following the MLP
    int output = kAbsent;     ///< then the sum
};

/// `result` is that of attention's projection, `stream` are the tokens.
Residual residualAfter(const RowMatcher& rows, int result, int stream);

/// The attention half of a block, found from its softmax. Throws Mismatch with the reason if it is none.
/// Fills attention, input, middle, layout, tokens and batch of the block.
Block matchAttention(const RowMatcher& rows, const Node& softmax);

/// The MLP half of a block whose attention is known: fills mlp and output. Throws Mismatch with the reason if
/// it is none.
void matchMlp(const RowMatcher& rows, Block& block);

/// Whether a block attends to other rows than those of a whole image in their order.
bool hasWindows(const EncoderSpec& encoder);

/// Finds out which tokens of the image the windows of the blocks hold, and which blocks are global.
/// Afterwards the blocks are those of an encoder over whole images. Throws Mismatch if the windows are of
/// another kind.
void findWindows(const RowMatcher& rows, EncoderSpec& encoder);

}  // namespace mpm::models
