#include "models/onnx/match/match_rows.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::models {
namespace {

class AttentionMatcher {
public:
    AttentionMatcher(const RowMatcher& rows, const Node& softmax) : m_rows(rows), m_softmax(softmax) {}

    Block run() {
        const Scores scores = scoresOf(m_rows, m_softmax);
        const Node& product = m_rows.graph().nodes[scores.product];
        m_context = contextAfter(m_softmax.outputs[0]);
        const Node& mix = m_rows.graph().nodes[m_rows.graph().values[m_context].producer];
        m_q = viewHeads(m_rows, product.inputs[0], false);
        m_k = viewHeads(m_rows, product.inputs[1], true);
        m_v = viewHeads(m_rows, mix.inputs[1], false);
        findStream();
        findHeads();
        gather(scores);
        findProjection();
        m_block.probabilities = m_softmax.outputs[0];
        return m_block;
    }

private:
    const Shape& shapeOf(int value) const { return m_rows.shapeOf(value); }
    [[noreturn]] void fail(const std::string& reason) const {
        throw Mismatch{"attention at " + m_rows.graph().describe(m_softmax) + ": " + reason};
    }

    // Returns the product of probabilities and values. Only reshapes may be between the softmax and this
    // product.
    int contextAfter(int value) const {
        while (true) {
            if (m_rows.usersOf(value).size() != 1 || m_rows.isOutput(value))
                fail("its probabilities are used elsewhere too");
            const Node& user = m_rows.graph().nodes[m_rows.usersOf(value)[0]];
            if (user.is("MatMul") && user.inputs[0] == value) return user.outputs[0];
            const bool reshaped = user.is("Reshape") || user.is("Squeeze") || user.is("Unsqueeze");
            if (!reshaped || !keepsMatrix(m_rows, user))
                fail("its probabilities pass through " + m_rows.graph().describe(user));
            value = user.outputs[0];
        }
    }

    void findStream() {
        const auto normed = [&](const HeadView& view) {
            return m_rows.normBehind(m_rows.graph().nodes[view.linear].inputs[0]);
        };
        const RowMatcher::Normed q = normed(m_q);
        const RowMatcher::Normed k = m_k.linear == m_q.linear ? q : normed(m_k);
        const RowMatcher::Normed v = m_v.linear == m_q.linear   ? q
                                     : m_v.linear == m_k.linear ? k
                                                                : normed(m_v);
        if (q.norm != k.norm || q.norm != v.norm)
            fail("queries, keys and values come from different tokens (cross-attention)");
        m_norm = &m_rows.graph().nodes[q.norm];
        m_block.input = m_norm->inputs[0];
        m_block.attention.norm = m_rows.normOf(*m_norm);
        m_streamRows = rowsInStream(m_q, q);
        if (rowsInStream(m_k, k) != m_streamRows || rowsInStream(m_v, v) != m_streamRows) {
            fail("queries, keys and values read the tokens in different orders");
        }
    }

    static List<int32_t> rowsInStream(const HeadView& view, const RowMatcher::Normed& normed) {
        List<int32_t> rows;
        for (int32_t row : view.rows)
            rows.push_back(normed.rows[row]);
        return rows;
    }

    // Divides the groups (matrices of queries) among the images or windows. Groups that read the same tokens
    // are the heads of the same image or window.
    void findHeads() {
        const Shape& stream = shapeOf(m_block.input);
        int64_t all = 1;
        for (size_t k = 0; k + 1 < stream.size(); ++k)
            all *= stream[k];
        const int64_t tokens = m_q.tokens;
        std::map<List<int32_t>, int> images;
        m_imageOf.resize(m_q.groups);
        for (int64_t g = 0; g < m_q.groups; ++g) {
            const List<int32_t> rows(m_streamRows.begin() + g * tokens,
                                     m_streamRows.begin() + (g + 1) * tokens);
            m_imageOf[g] = images.emplace(rows, static_cast<int>(images.size())).first->second;
        }
        const int64_t batch = static_cast<int64_t>(images.size());
        if (m_k.tokens != tokens || m_k.groups != m_q.groups || m_v.groups != m_q.groups)
            fail("queries and keys differ in number");
        m_block.tokens = tokens;
        m_block.batch = batch;
        m_block.rows = all;
        m_block.attention.heads = static_cast<int>(m_q.groups / batch);
        List<List<int32_t>> windows(images.size());
        for (const auto& [rows, image] : images)
            windows[image] = rows;
        const int64_t expected = shapeOf(m_rows.graph().inputs[0].value)[0];
        if (batch == expected && batch * tokens == all) {
            const auto inOrder = [&](const List<int32_t>& rows) { return isInOrder(rows, batch); };
            if (std::all_of(windows.begin(), windows.end(), inOrder)) return;
        }
        takeWindows(windows, all, expected);
    }

    // Stores, as windows, the rows that attention reads together. Called if attention does not read whole
    // images in order. findWindows() checks the shape of the windows later.
    void takeWindows(const List<List<int32_t>>& windows, int64_t all, int64_t images) {
        List<char> seen(static_cast<size_t>(all), 0);
        int64_t read = 0;
        for (const List<int32_t>& rows : windows) {
            for (const int32_t row : rows) {
                if (row >= 0 && seen[row]++) fail("it reads tokens more than once");
                read += row >= 0;
            }
        }
        if (read != all) fail("it does not read every token");
        if (static_cast<int64_t>(windows.size()) % images) fail("its windows are not as many for each image");
        m_block.windows = windows;
        m_block.layout = Layout::BatchFirst;
    }

    bool isInOrder(const List<int32_t>& rows, int64_t batch) {
        const int64_t tokens = m_block.tokens;
        const bool batchFirst =
            rows[0] % tokens == 0 && (tokens == 1 || rows[1] == rows[0] + 1) &&
            !(batch == 1 && shapeOf(m_block.input).size() == 3 && shapeOf(m_block.input)[1] == 1);
        m_block.layout = batchFirst ? Layout::BatchFirst : Layout::TokensFirst;
        for (int64_t t = 0; t < tokens; ++t)
            if (rows[t] != rows[0] + t * (batchFirst ? 1 : batch)) return false;
        return true;
    }

    List<int64_t> groupsOf(int image) const {
        List<int64_t> groups;
        for (int64_t g = 0; g < m_q.groups; ++g) {
            if (m_imageOf[g] == image) groups.push_back(g);
        }
        return groups;
    }

    // Collects the weights of q, k and v, with columns in MpmEncoder's order.
    void gather(const Scores& scores) {
        Attention& a = m_block.attention;
        const List<int64_t> groups = groupsOf(m_imageOf[0]);
        a.scale = scores.scale * m_q.factor * m_k.factor;
        a.keyBias = scores.keyBias;
        for (const HeadView* view : {&m_q, &m_k, &m_v})
            checkImages(*view, groups);
        a.qkv = joinHeads(m_rows, {&m_q, &m_k, &m_v}, groups, m_v.factor);
        if (m_q.norm != kAbsent) a.qNorm = m_rows.normOf(m_rows.graph().nodes[m_q.norm]);
        if (m_k.norm != kAbsent) a.kNorm = m_rows.normOf(m_rows.graph().nodes[m_k.norm]);
        if (m_v.norm != kAbsent || m_v.rotated) fail("its values are normalised or rotated");
        if (m_q.rotated != m_k.rotated) fail("only one of queries and keys is rotated");
        if (!m_q.rotated) return;
        a.rope = sameRope(groups);
        for (size_t w = 0; w < m_block.windows.size(); ++w)
            m_block.ropes.push_back(sameRope(groupsOf(static_cast<int>(w))));
    }

    Rope sameRope(const List<int64_t>& groups) const {
        const Rope rope = ropeOf(m_q, groups), other = ropeOf(m_k, groups);
        const bool same =
            rope.interleaved == other.interleaved && close(rope.cos, other.cos) && close(rope.sin, other.sin);
        if (!same) fail("queries and keys are rotated differently");
        return rope;
    }

    // Fails if a head of an image uses other columns of the linear layer than the same head of the first
    // image.
    void checkImages(const HeadView& view, const List<int64_t>& first) const {
        std::map<int, size_t> next;
        for (int64_t g = 0; g < view.groups; ++g) {
            const size_t head = next[m_imageOf[g]]++;
            if (head >= first.size()) fail("its heads differ between images");
            for (int64_t j = 0; j < view.size; ++j) {
                if (view.columns[g * view.size + j] != view.columns[first[head] * view.size + j])
                    fail("its heads differ between images");
            }
        }
    }

    // Follows the heads' results (the context) to the sum with the stream. In between are a Linear, nodes
    // that move elements, and optionally a norm and a scale.
    void findProjection() {
        const int linear = walkToLinear();
        const Node& node = m_rows.graph().nodes[linear];
        int input = node.inputs[0];
        if (m_inner != kAbsent) {
            const RowMatcher::Normed normed = m_rows.normBehind(input);
            if (normed.norm != m_inner) fail("its result is normalised twice");
            for (size_t r = 0; r < normed.rows.size(); ++r) {
                if (normed.rows[r] != static_cast<int32_t>(r))
                    fail("its result changes order after its norm");
            }
            input = m_rows.graph().nodes[m_inner].inputs[0];
        }
        const auto traced = trace(m_rows.graph(), m_rows.inferred(), input, Follow::Affine, {m_context});
        if (!traced || traced->sources != List<int>{m_context})
            fail("its result is mixed with something else");
        const List<int32_t> streamRow = placeContext(*traced, shapeOf(input).back());
        m_block.attention.proj = permuted(m_rows.denseOf(node));
        if (m_inner != kAbsent)
            m_block.attention.inner = permuted(m_rows.normOf(m_rows.graph().nodes[m_inner]));
        closeResidual(node, streamRow);
    }

    int walkToLinear() {
        const int found = m_rows.downstream(m_context, [&](int n) {
            const Node& user = m_rows.graph().nodes[n];
            if (isLinear(&user)) return RowMatcher::Step::Found;
            if (m_rows.isNorm(&user)) {
                m_inner = n;
            } else if (!canFollow(m_rows.inferred(), user, Follow::Affine)) {
                fail("its result goes into " + m_rows.graph().describe(user) + " instead of a projection");
            }
            return RowMatcher::Step::Follow;
        });
        if (found == kAbsent) fail("no projection follows it");
        return found;
    }

    // For each column of the projection's input, finds the column in MpmEncoder's order. For each row of the
    // input, returns the stream's row.
    List<int32_t> placeContext(const Trace& traced, int64_t width) {
        const int64_t size = m_v.size, tokens = m_q.tokens;
        m_columns.assign(width, -1);
        m_factor = traced.terms[0].factor[0];
        List<int32_t> streamRow(traced.terms.size() / width, -1);
        const List<int> headOf = headOfGroups();
        for (size_t k = 0; k < traced.terms.size(); ++k) {
            const Term term = traced.terms[k];
            if (term.count() != 1 || term.constant != 0 || term.factor[0] != m_factor)
                fail("its result is changed before the projection");
            const int64_t group = term.at[0] / (tokens * size), token = term.at[0] / size % tokens;
            const int32_t row = m_streamRows[group * tokens + token];
            const int32_t column = static_cast<int32_t>(headOf[group] * size + term.at[0] % size);
            int32_t& knownRow = streamRow[k / width];
            int32_t& knownColumn = m_columns[k % width];
            if (knownRow < 0) knownRow = row;
            if (knownColumn < 0) knownColumn = column;
            if (knownRow != row || knownColumn != column)
                fail("its heads are joined in an order that differs between tokens");
        }
        return streamRow;
    }

    List<int> headOfGroups() const {
        std::map<int, int> next;
        List<int> head(m_q.groups);
        for (int64_t g = 0; g < m_q.groups; ++g)
            head[g] = next[m_imageOf[g]]++;
        return head;
    }

    bool straight() const {
        for (size_t c = 0; c < m_columns.size(); ++c) {
            if (m_columns[c] != static_cast<int32_t>(c)) return false;
        }
        return true;
    }

    // Returns the projection with weights in the order in which MpmEncoder joins heads.
    Dense permuted(const Dense& dense) const {
        const int64_t columns = dense.weight.dim(-1);
        const int64_t joined = m_block.attention.heads * m_v.size;
        if (joined != dense.weight.dim(0)) fail("its projection does not take every head");
        if (m_inner != kAbsent && m_factor != 1) fail("its result is scaled before a norm");
        if (straight() && m_factor == 1) return dense;
        Dense result = dense;
        result.weight = Tensor::zeros(Type::Float, dense.weight.shape());
        for (size_t c = 0; c < m_columns.size(); ++c) {
            const float* from = dense.weight.f() + c * columns;
            float* to = result.weight.writeF() + m_columns[c] * columns;
            for (int64_t k = 0; k < columns; ++k)
                to[k] = m_factor * from[k];
        }
        return result;
    }

    Norm permuted(const Norm& norm) const {
        if (straight()) return norm;
        List<float> weight(m_columns.size()), bias(m_columns.size(), 0.f);
        for (size_t c = 0; c < m_columns.size(); ++c) {
            weight[m_columns[c]] = norm.weight.f()[c];
            if (norm.bias.known()) bias[m_columns[c]] = norm.bias.f()[c];
        }
        const Shape shape{static_cast<int64_t>(weight.size())};
        return {Tensor::floats(shape, weight), norm.bias.known() ? Tensor::floats(shape, bias) : Tensor(),
                norm.rule};
    }

    bool keepsRows(const Node& node) const {
        return node.isAny({"Reshape", "Squeeze", "Unsqueeze", "Flatten"}) &&
               shapeOf(node.inputs[0]).size() > 1 && shapeOf(node.outputs[0]).size() > 1 &&
               shapeOf(node.inputs[0]).back() == shapeOf(node.outputs[0]).back();
    }

    void closeResidual(const Node& linear, const List<int32_t>& streamRow) {
        Residual residual = residualAfter(m_rows, linear.outputs[0], m_block.input);
        // The norm may read a reshaped copy of the tokens, while the sum reads the tokens themselves. So this
        // loop also tries the values in front of the reshapes.
        for (const Node* node = m_rows.graph().nodeOf(m_block.input);
             residual.branch == kAbsent && node && keepsRows(*node);
             node = m_rows.graph().nodeOf(m_block.input)) {
            m_block.input = node->inputs[0];
            residual = residualAfter(m_rows, linear.outputs[0], m_block.input);
        }
        const int branchValue = residual.branch;
        if (branchValue == kAbsent) fail("its result is not added to the tokens it came from");
        m_block.middle = residual.middle;
        m_block.output = residual.output;
        m_block.mlpBranch = residual.mlpBranch;
        if (shapeOf(branchValue) != shapeOf(m_block.input)) fail("its residual is broadcast");
        const RowMatcher::Branch branch = m_rows.linearBehind(branchValue);
        if (branch.linear == kAbsent) fail("its projection is spread over several linear layers");
        for (size_t r = 0; r < branch.rows.size(); ++r) {
            if (streamRow[branch.rows[r]] != static_cast<int32_t>(r))
                fail("its residual adds tokens to other tokens");
        }
        m_block.attention.proj = withBranch(m_block.attention.proj, branch.factor, branch.constant);
    }

    const RowMatcher& m_rows;
    const Node& m_softmax;
    const Node* m_norm = nullptr;
    int m_context = kAbsent;  // value: the product of probabilities and values
    int m_inner = kAbsent;    // node: the norm before the projection
    HeadView m_q, m_k, m_v;
    List<int32_t> m_streamRows;  // the stream's row for each group and token
    List<int> m_imageOf;         // the image or window of each group
    List<int32_t> m_columns;     // MpmEncoder's column for each column of the projection's input
    float m_factor = 1;          // scale of the context before the projection
    Block m_block;
};

}  // namespace

Block matchAttention(const RowMatcher& rows, const Node& softmax) {
    return AttentionMatcher(rows, softmax).run();
}

}  // namespace mpm::models
