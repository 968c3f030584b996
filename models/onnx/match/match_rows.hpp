// Helpers of the matchers. The stream is the tensor of tokens to which each block adds its results. Many
// helpers trace the rows of another tensor back to the rows of the stream.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {

/// Thrown if a part of the graph does not match.
struct Mismatch {
    std::string reason;
    bool masked = false;    ///< whether the keys that a token attends to depend on the image
    bool relative = false;  ///< whether the scores contain relative positions
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
    /// Calls `visit` for each node that reads `value`. If `visit` returns Follow, also visits the nodes that
    /// read the node's outputs. Returns the first node for which `visit` returns Found, else kAbsent.
    int downstream(int value, const std::function<Step(int node)>& visit) const;
    /// Returns `value` and all values from which it is computed.
    std::set<int> upstream(int value) const;
    /// Returns whether the node is an Add or Where that masks scores with a mask that depends on the image.
    bool isMask(const Node& node) const;
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    bool isNorm(const Node* node) const;
    std::string describe(int value) const;

    Norm normOf(const Node& node) const;
    Dense denseOf(const Node& linear) const { return models::denseOf(m_graph, linear); }

    static constexpr int32_t kPadded = -1;
    struct Normed {
        int norm = kAbsent;  ///< the norm's node
        List<int32_t> rows;  ///< for each row of the value, the norm's row; kPadded if the row is zeros
    };
    /// Finds the norm whose result is `value`, perhaps with rows in another order. Throws Mismatch.
    Normed normBehind(int value) const;

    struct Branch {
        int linear = kAbsent;  ///< node; kAbsent if several layers were joined
        int input = kAbsent;   ///< value that the layer reads
        Dense dense;
        List<int32_t> rows;            ///< for each row of the value, the layer's row
        List<float> factor, constant;  ///< scale and shift of each column
    };
    /// Finds the Linear whose result is `value`. Columns may be scaled or shifted, and rows may be in another
    /// order. Joins several layers that read the same rows. Throws Mismatch if `value` is something else.
    Branch linearBehind(int value) const;

private:
    List<int32_t> rowNumbers(int value) const;
    Branch branchOf(int value, const Trace& traced) const;

    const Graph& m_graph;
    const Inferred& m_inferred;
    List<List<int>> m_users;
    List<char> m_isOutput;
};

bool close(float a, float b);  ///< whether a and b are equal up to rounding in f32
bool close(const Tensor& a, const Tensor& b);

/// Returns noise from -scale to scale in the shape of a tensor; zeros if the tensor has integers.
Tensor noiseLike(const Tensor& shape, uint32_t seed, float scale = 1);

/// Chooses the backbone: the longest encoder that depends on no other encoder and, if `chains` is true, the
/// encoders that continue its tokens. Other encoders become decoders. Throws Refusal if blocks that cannot
/// merge are in front of or behind the backbone, or if special tokens are between its image tokens.
void chooseBackbone(const RowMatcher& rows, const List<Unmatched>& unmatched, bool chains,
                    List<EncoderSpec>& encoders);

/// Returns whether a matrix product reads the probabilities. Deformable attention has no such product.
bool isAttention(const RowMatcher& rows, int probabilities);

/// Returns the first property in which the blocks differ; empty if there is none. Blocks that differ cannot
/// be in the same MpmEncoder.
std::string difference(const Block& a, const Block& b);

bool sameValues(const Tensor& a, const Tensor& b);  ///< also true if neither has values

/// Numbers of rows in front of and behind the image tokens.
struct OtherRows {
    int special = 0;
    int trailing = 0;
};

/// Returns how many special and trailing rows `next` has, if it has the image tokens of `segment` in order.
/// Otherwise returns nothing. Nodes between the two encoders may add values to the tokens.
std::optional<OtherRows> continuationOf(const RowMatcher& rows, const EncoderSpec& segment,
                                        const EncoderSpec& next);

/// The origin of the rows of an encoder's stream.
struct Embedding {
    static constexpr int32_t kSpecial = -1;

    int source = kAbsent;
    bool channelsLast = false;
    int64_t gridRows = 0, gridColumns = 0;
    List<int32_t> image;  ///< for each row, its image; kSpecial for special tokens
    List<int32_t> token;  ///< for each row, its number in raster order of the image
    /// The elements of the tokens in front of `norms`, each as a sum of elements of `source`.
    Terms terms;
    List<int32_t> termRow;  ///< for each row of the stream, its row in `terms`
    List<Norm> norms;       ///< norms of the tokens, the last norm first
};

/// Follows the rows of the stream back to the embedded patches; norms may be in between. Throws Mismatch.
Embedding embeddingOf(const RowMatcher& rows, const EncoderSpec& encoder);

/// Attention scores: q k^T, scaled, with or without a bias per key.
struct Scores {
    int product = kAbsent;  ///< the MatMul, a node
    float scale = 1;
    Tensor keyBias;
};

/// Reads the scores that enter a softmax. Throws Mismatch.
Scores scoresOf(const RowMatcher& rows, const Node& softmax);

/// Returns whether the last two axes of a node's input and output have the same sizes.
bool keepsMatrix(const RowMatcher& rows, const Node& node);

/// Queries, keys or values of attention: a matrix [tokens, size] for each group. A group is a head of an
/// image.
struct HeadView {
    int linear = kAbsent;  ///< node that computes the operand
    int norm = kAbsent;    ///< norm of each head, behind the Linear; optional
    int64_t groups = 0, tokens = 0, size = 0;
    List<int32_t> rows;     ///< [groups, tokens], row of the layer's result
    List<int32_t> columns;  ///< [groups, size], column of the layer's result
    List<float> bias;       ///< [groups, size], added to the layer's result
    float factor = 1;       ///< multiplies the sum of the layer's result and `bias`
    bool rotated = false;
    List<float> cos, sin;   ///< [groups, tokens, size], if rotated: x becomes x cos + partner sin
    List<int32_t> partner;  ///< [groups, size], the other component of the rotated pair
};

/// Traces an operand back to its Linear. `transposed`: whether the tokens are the last axis. Throws Mismatch.
HeadView viewHeads(const RowMatcher& rows, int value, bool transposed);

/// Returns a layer with the columns of all views: one view after the other, and head by head within a view.
/// Multiplies the last view's columns by `lastFactor`.
Dense joinHeads(const RowMatcher& rows, const List<const HeadView*>& views, const List<int64_t>& groups,
                float lastFactor);

/// Returns the rotary tables of `groups`, which must be the heads of an image. If the tables of all heads are
/// equal, returns a single table.
Rope ropeOf(const HeadView& view, const List<int64_t>& groups);

/// The sums that add attention and MLP to the tokens, as values of the graph. If MLP and attention are
/// parallel, a sum may have three terms, in any order.
struct Residual {
    int branch = kAbsent;     ///< attention's term; kAbsent if no sum was found
    int middle = kAbsent;     ///< the first sum, of two terms
    int mlpBranch = kAbsent;  ///< the MLP's term, if there is a sum of three terms
    int output = kAbsent;     ///< the sum of three terms, if mlpBranch is known
};

/// Finds the sum of `result` (from attention's projection) and `stream` (the tokens).
Residual residualAfter(const RowMatcher& rows, int result, int stream);

/// Matches the attention around `softmax`. Returns a block without the members that matchMlp() fills. Throws
/// Mismatch.
Block matchAttention(const RowMatcher& rows, const Node& softmax);

/// Matches the MLP of a block whose attention is known, and fills mlp, parallel and output. Throws Mismatch.
void matchMlp(const RowMatcher& rows, Block& block);

/// Returns whether any block has `windows` (attention that does not read whole images in order).
bool hasWindows(const EncoderSpec& encoder);

/// Finds the windows and the global blocks. Then changes each block as if its attention read whole images.
/// Throws Mismatch.
void findWindows(const RowMatcher& rows, EncoderSpec& encoder);

}  // namespace mpm::models
