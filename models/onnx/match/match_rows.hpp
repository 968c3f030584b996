// Helpers of the matchers, such as for the row of the residual stream that a row of a tensor belongs to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {

/// The reason why a part of the graph does not match. The matchers catch it.
struct Mismatch {
    std::string reason;
    bool masked = false;    ///< the image decides which keys a token attends to
    bool relative = false;  ///< the scores contain relative positions
};

/// An attention that is not part of an encoder.
struct Unmatched {
    int value = -1;  ///< the attention's probabilities
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
    /// Returns the first node after `value` for which `visit` returns Found; continues behind nodes with
    /// Follow. kAbsent if there is none.
    int downstream(int value, const std::function<Step(int node)>& visit) const;
    /// Returns all values that a value is computed from, and the value itself.
    std::set<int> upstream(int value) const;
    /// Whether the node is a sum or a choice that drops scores by a comparison that depends on the image.
    bool isMask(const Node& node) const;
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    bool isNorm(const Node* node) const;
    std::string describe(int value) const;

    Norm normOf(const Node& node) const;
    Dense denseOf(const Node& linear) const { return models::denseOf(m_graph, linear); }

    static constexpr int32_t kPadded = -1;
    struct Normed {
        int norm = kAbsent;  ///< node
        List<int32_t> rows;  ///< row of the norm's input, by row of the value; kPadded for a row of zeros
    };
    /// Finds the norm whose result is the value, perhaps with the rows in another order.
    Normed normBehind(int value) const;

    struct Branch {
        int linear = kAbsent;          ///< node; absent if several layers were joined
        int input = kAbsent;           ///< value that the layer reads
        Dense dense;                   ///< the layer's weights
        List<int32_t> rows;            ///< row of the linear's result, by row of the value
        List<float> factor, constant;  ///< by column
    };
    /// Finds the Linear whose result is the value, perhaps scaled and shifted by column, and with the rows in
    /// another order. Joins several layers that read the same rows to a single layer.
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

/// Returns noise from -scale to scale in the shape of a tensor; zeros if the tensor has integers.
Tensor noiseLike(const Tensor& shape, uint32_t seed, float scale = 1);

/// Chooses as backbone the longest encoder that reads the image and no other encoder; with `chains`, also the
/// encoders that continue its tokens. The others decode. Throws Refusal if merging would stop half way.
void chooseBackbone(const RowMatcher& rows, const List<Unmatched>& unmatched, bool chains,
                    List<EncoderSpec>& encoders);

/// Whether the probabilities weigh rows in a product, as attention does; deformable attention does not.
bool isAttention(const RowMatcher& rows, int probabilities);

/// Returns the property in which two blocks differ; empty if there is none. An operator cannot hold both
/// blocks if they differ, because it has each property once for all blocks.
std::string difference(const Block& a, const Block& b);

bool sameValues(const Tensor& a, const Tensor& b);  ///< also true if both have none

/// Rows in front of and behind the image tokens.
struct OtherRows {
    int special = 0;
    int trailing = 0;
};

/// Returns the rows around the image tokens of `next` if these are the image tokens of `segment`, in order
/// and perhaps with something added to each.
std::optional<OtherRows> continuationOf(const RowMatcher& rows, const EncoderSpec& segment,
                                        const EncoderSpec& next);

/// The origin of the rows of an encoder's stream.
struct Embedding {
    static constexpr int32_t kSpecial = -1;

    int source = kAbsent;
    bool channelsLast = false;
    int64_t gridRows = 0, gridColumns = 0;
    List<int32_t> image;  ///< by row; kSpecial for special tokens
    List<int32_t> token;  ///< by row, in raster order of its image
    Terms terms;
    List<int32_t> termRow;  ///< row of the terms, by row of the stream
    List<Norm> norms;       ///< the last norm first
};

/// Follows the rows of the stream back to the embedded patches, through norms of whole rows. Throws Mismatch.
Embedding embeddingOf(const RowMatcher& rows, const EncoderSpec& encoder);

/// q k^T, scaled, with or without a bias per key.
struct Scores {
    int product = kAbsent;  ///< the MatMul, a node
    float scale = 1;
    Tensor keyBias;
};

/// Reads the scores in front of a softmax. Throws Mismatch.
Scores scoresOf(const RowMatcher& rows, const Node& softmax);

/// Whether a node keeps the last two axes.
bool keepsMatrix(const RowMatcher& rows, const Node& node);

/// An operand of attention's products: `groups` (images x heads) matrices of tokens x size.
struct HeadView {
    int linear = kAbsent;  ///< node that computes the operand
    int norm = kAbsent;    ///< norm over a head in between; optional
    int64_t groups = 0, tokens = 0, size = 0;
    List<int32_t> rows;     ///< [groups, tokens] row of the linear's result
    List<int32_t> columns;  ///< [groups, size] column of the linear's result
    List<float> bias;       ///< [groups, size] added in between, before the factor
    float factor = 1;       ///< multiplied in between
    bool rotated = false;
    List<float> cos, sin;   ///< [groups, tokens, size] if rotated: x cos + partner sin
    List<int32_t> partner;  ///< [groups, size] the other component of the rotation
};

HeadView viewHeads(const RowMatcher& rows, int value, bool transposed);

/// Returns a weight with the columns of all views, head by head; the last view's times `lastFactor`.
Dense joinHeads(const RowMatcher& rows, const List<const HeadView*>& views, const List<int64_t>& groups,
                float lastFactor);

/// Returns the tables of these groups (the heads of an image); a single table if all heads share it.
Rope ropeOf(const HeadView& view, const List<int64_t>& groups);

/// Values of the graph. If the MLP is parallel to attention, the sum has three terms, in any order.
struct Residual {
    int branch = kAbsent;     ///< attention's term; absent if there is no such sum
    int middle = kAbsent;     ///< the inner sum, of two terms
    int mlpBranch = kAbsent;  ///< the MLP's term, if the sum of three terms was found from attention
    int output = kAbsent;     ///< then the sum of three terms
};

/// Finds the sum of `result`, which comes from attention's projection, and `stream`, the tokens.
Residual residualAfter(const RowMatcher& rows, int result, int stream);

/// Matches the attention half of a block from its softmax: fills attention, input, middle, layout, tokens and
/// batch of the block. Throws Mismatch, with the reason, if there is no match.
Block matchAttention(const RowMatcher& rows, const Node& softmax);

/// Matches the MLP half of a block whose attention is known: fills mlp and output. Throws Mismatch, with the
/// reason, if there is no match.
void matchMlp(const RowMatcher& rows, Block& block);

/// Whether a block attends to anything other than the rows of a whole image in order.
bool hasWindows(const EncoderSpec& encoder);

/// Finds which image tokens the windows of the blocks hold, and which blocks are global. Turns the blocks
/// into those of an encoder over whole images. Throws Mismatch if the windows are of an unsupported kind.
void findWindows(const RowMatcher& rows, EncoderSpec& encoder);

}  // namespace mpm::models
