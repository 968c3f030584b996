#include "models/onnx/match/match_rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "models/onnx/ir/norm.hpp"

namespace mpm::models {
namespace {

class MlpMatcher {
public:
    MlpMatcher(const RowMatcher& rows, Block& block) : m_rows(rows), m_block(block) {}

    void run() {
        if (m_block.mlpBranch != kAbsent) {
            matchBranch(m_block.mlpBranch);
            if (!m_block.parallel) fail("its MLP is beside attention, but reads other tokens");
            return;
        }
        for (int n : m_rows.usersOf(m_block.middle)) {
            const Node& node = m_rows.graph().nodes[n];
            if (!node.is("Add") || node.inputs.size() != 2) continue;
            const int branch = node.inputs[0] == m_block.middle ? node.inputs[1] : node.inputs[0];
            if (m_rows.shapeOf(branch) != m_rows.shapeOf(m_block.middle)) continue;
            matchBranch(branch);
            m_block.output = node.outputs[0];
            return;
        }
        fail("no MLP is added to the tokens");
    }

private:
    [[noreturn]] void fail(const std::string& reason) const {
        throw Mismatch{"the block after " + m_rows.describe(m_block.middle) + ": " + reason};
    }

    void matchBranch(int value) {
        const RowMatcher::Branch branch = m_rows.linearBehind(value);
        m_block.mlp.fc2 = withBranch(branch.dense, branch.factor, branch.constant);
        m_hidden = branch.input;
        const Node* before = m_rows.graph().nodeOf(m_hidden);
        if (m_rows.isNorm(before)) {
            m_block.mlp.inner = m_rows.normOf(*before);
            m_hidden = before->inputs[0];
        }
        if (!readActivation(branch, {})) {
            // A separate node may add the bias, for example behind a Split.
            const List<int> shifted = shiftedLayers();
            if (shifted.empty() || !readActivation(branch, shifted))
                fail("its activation is none of " + activationNames() + " (gated or not)");
        }
    }

    // Identifies the activation. The activation's inputs are results of linear layers, or the values `ends`,
    // in which columns of such results are scaled or shifted. Returns false if the activation is unknown.
    bool readActivation(const RowMatcher::Branch& branch, const List<int>& ends) {
        const auto traced = trace(m_rows.graph(), m_rows.inferred(), m_hidden, Follow::Dependence, ends);
        if (!traced || traced->sources.empty() || traced->sources.size() > 2)
            fail("its activation mixes more than two channels");
        m_feeds.clear();
        for (int source : traced->sources) {
            const auto feed = feedOf(source);
            if (!feed) fail("its activation does not follow a linear layer");
            m_feeds.push_back(*feed);
        }
        readColumns(*traced);
        const List<int32_t> rows = rowsOfSources();
        for (size_t r = 0; r < branch.rows.size(); ++r) {
            if (rows[branch.rows[r]] != static_cast<int32_t>(r))
                fail("its residual adds tokens to other tokens");
        }
        return identify(*traced);
    }

    // An input of the activation: the elements `terms` of a linear layer's result. If `terms` is empty, the
    // input is the whole result.
    struct Feed {
        const Node* linear = nullptr;
        int64_t width = 0;
        Terms terms;
    };

    std::optional<Feed> feedOf(int source) const {
        const Node* node = m_rows.graph().nodeOf(source);
        if (isLinear(node)) return Feed{node, m_rows.shapeOf(source).back(), {}};
        const auto traced = trace(m_rows.graph(), m_rows.inferred(), source);
        if (!traced || traced->sources.size() != 1) return std::nullopt;
        const Node* linear = m_rows.graph().nodeOf(traced->sources[0]);
        if (!isLinear(linear) || traced->terms.any([](const Term& t) { return t.count() != 1; }))
            return std::nullopt;
        return Feed{linear, m_rows.shapeOf(traced->sources[0]).back(), traced->terms};
    }

    // Finds the values in which constants scale or shift the columns of a linear layer's result. If several
    // such values are in a chain, finds only the last value of the chain.
    List<int> shiftedLayers() const {
        const Graph& graph = m_rows.graph();
        const Inferred& inferred = m_rows.inferred();
        List<int> found;
        OpenValues open({m_hidden});
        for (int value; open.next(value);) {
            const Node* node = graph.nodeOf(value);
            if (!node || inferred.values[value].known()) continue;
            const bool shifted = node->isAny({"Add", "Sub", "Mul", "Div"}) &&
                                 std::any_of(node->inputs.begin(), node->inputs.end(), [&](int in) {
                                     return inferred.values[in].known() && inferred.values[in].size() > 1;
                                 });
            if (shifted && feedOf(value)) {
                found.push_back(value);
            } else if (canFollow(inferred, *node, Follow::Dependence)) {
                open.add(node->inputs);
            }
        }
        return found;
    }

    // Finds, for each hidden channel, the columns of the linear layers on which the channel depends.
    void readColumns(const Trace& traced) {
        const int64_t width = m_rows.shapeOf(m_hidden).back();
        m_gated = traced.terms[0].count() == 2;
        for (int slot = 0; slot < (m_gated ? 2 : 1); ++slot)
            m_columns[slot].resize(width);
        m_rowOfHidden.resize(traced.terms.size() / width);
        for (size_t row = 0; row < m_rowOfHidden.size(); ++row) {
            for (int64_t k = 0; k < width; ++k) {
                if (row == 0 || k == 0 || !isInPlace(traced, row, k))
                    readElement(row, k, traced, traced.terms[row * width + k]);
            }
        }
    }

    // Returns true only if element k of a row depends on the same columns as element k of the first row, and
    // on the same input row as the row's other elements. This test is much faster than readElement(), which
    // decides all other cases.
    bool isInPlace(const Trace& traced, size_t row, int64_t k) const {
        const size_t element = row * m_columns[0].size() + k;
        for (int slot = 0; slot < 2; ++slot) {
            const int32_t* at = traced.terms.at(slot);
            const bool none = !at || at[element] < 0;
            if (slot == 1 && !m_gated) return none;
            if (none || at[element] != placeOf(traced, m_rowOfHidden[row], m_columns[slot][k])) return false;
        }
        return true;
    }

    void readElement(size_t row, int64_t k, const Trace& traced, const Term& term) {
        if (term.count() != (m_gated ? 2 : 1)) fail("its channels are not alike");
        for (int slot = 0; slot < term.count(); ++slot) {
            const Column column = locate(traced, term.at[slot]);
            if (row == 0) m_columns[slot][k] = column;
            if (!m_columns[slot][k].isLike(column)) fail("its channels are not alike");
            if (slot == 0 && k == 0) m_rowOfHidden[row] = column.row;
            if (m_rowOfHidden[row] != column.row) fail("it mixes tokens");
        }
    }

    struct Column {
        int source = 0;
        int32_t row = 0, column = 0;
        float factor = 1, constant = 0;

        bool isLike(const Column& other) const {
            return source == other.source && column == other.column && factor == other.factor &&
                   constant == other.constant;
        }
    };

    Column locate(const Trace& traced, int64_t at) const {
        Column found;
        while (found.source + 1 < static_cast<int>(traced.sources.size()) &&
               at >= traced.offsets[found.source + 1])
            ++found.source;
        const Feed& feed = m_feeds[found.source];
        int64_t place = at - traced.offsets[found.source];
        if (feed.terms.size() > 0) {
            const Term term = feed.terms[place];
            place = term.at[0];
            found.factor = term.factor[0];
            found.constant = term.constant;
        }
        found.row = static_cast<int32_t>(place / feed.width);
        found.column = static_cast<int32_t>(place % feed.width);
        return found;
    }

    // Returns the trace's index of the element at `row` and `column` in a linear layer's result.
    // Returns -1 if the feed is not the whole result.
    int64_t placeOf(const Trace& traced, int32_t row, const Column& column) const {
        const Feed& feed = m_feeds[column.source];
        return feed.terms.size() > 0 ? -1 : traced.offsets[column.source] + row * feed.width + column.column;
    }

    // Returns the stream's row for each hidden row. Fails if the linear layers read different norms of the
    // stream.
    List<int32_t> rowsOfSources() {
        List<int32_t> rows;
        int norm = kAbsent;
        for (const Feed& feed : m_feeds) {
            const RowMatcher::Normed normed = m_rows.normBehind(feed.linear->inputs[0]);
            if (norm != kAbsent && (norm != normed.norm || rows != normed.rows))
                fail("its gate reads other tokens");
            norm = normed.norm;
            rows = normed.rows;
        }
        const Node& node = m_rows.graph().nodes[norm];
        m_block.parallel = node.inputs[0] == m_block.input;
        if (!m_block.parallel && node.inputs[0] != m_block.middle)
            fail("it does not read the tokens it is added to");
        m_block.mlp.norm = m_rows.normOf(node);
        List<int32_t> result;
        for (int32_t row : m_rowOfHidden)
            result.push_back(rows[row]);
        return result;
    }

    Dense take(int slot) const {
        const List<Column>& columns = m_columns[slot];
        const Dense dense = m_rows.denseOf(*m_feeds[columns[0].source].linear);
        const int64_t width = dense.weight.dim(1), depth = dense.weight.dim(0),
                      count = static_cast<int64_t>(columns.size());
        bool whole = width == count;
        List<float> factor, constant;
        for (int64_t k = 0; k < count; ++k) {
            whole &= columns[k].column == k;
            factor.push_back(columns[k].factor);
            constant.push_back(columns[k].constant);
            if (columns[k].source != columns[0].source) fail("its gate is spread over two linear layers");
        }
        if (whole) return withBranch(dense, factor, constant);
        Dense result;
        result.weight = Tensor::zeros(Type::Float, {depth, count});
        for (int64_t r = 0; r < depth; ++r) {
            for (int64_t k = 0; k < count; ++k)
                result.weight.writeF()[r * count + k] = dense.weight.f()[r * width + columns[k].column];
        }
        if (dense.bias.known()) {
            List<float> bias;
            for (const Column& column : columns)
                bias.push_back(dense.bias.f()[column.column]);
            result.bias = Tensor::floats({count}, bias);
        }
        return withBranch(result, factor, constant);
    }

    // Evaluates the nodes between linear layers and hidden values at the probes, and compares the results
    // with each activation of kActivations. The tolerance is 1e-4: gelu and gelu_tanh differ by 5e-4, and
    // constants in half precision change a value by only 3e-5.
    bool identify(const Trace& traced) {
        const List<float> result = runProbes(traced), &probes = activationProbes();
        const size_t count = probes.size(), pairs = m_gated ? count * count : count;
        List<float> expected(pairs);
        for (const auto& [name, activation, f, least] : kActivations) {
            for (int gate = 0; gate < (m_gated ? 2 : 1); ++gate) {
                for (size_t k = 0; k < pairs; ++k) {
                    const float x[2] = {probes[k % count], probes[k / count]};
                    expected[k] = m_gated ? f(x[gate]) * x[1 - gate] : f(x[0]);
                }
                bool fits = true;
                for (size_t k = 0; k < result.size() && fits; ++k) {
                    const float wanted = expected[k % pairs];
                    fits = std::abs(result[k] - wanted) <= 1e-4f * std::max(1.f, std::abs(wanted));
                }
                if (!fits) continue;
                m_block.mlp.activation = name;
                m_block.mlp.fc1 = take(m_gated ? 1 - gate : 0);
                if (m_gated) m_block.mlp.gate = take(gate);
                return true;
            }
        }
        return false;
    }

    // Evaluates the hidden values with the probes as inputs. Element k of the hidden values gets probe k or,
    // in a gated MLP, pair k of all pairs of probes. After the last probe or pair, continues with the first.
    List<float> runProbes(const Trace& traced) {
        const Graph& graph = m_rows.graph();
        std::map<int, Tensor> values;
        List<float*> fed;
        for (int source : traced.sources)
            fed.push_back((values[source] = Tensor::floats(m_rows.shapeOf(source))).writeF());
        const auto width = static_cast<size_t>(m_rows.shapeOf(m_hidden).back());
        const List<float>& probes = activationProbes();
        const size_t count = probes.size(), pairs = m_gated ? count * count : count;
        for (int slot = 0; slot < (m_gated ? 2 : 1); ++slot) {
            const int32_t* at = traced.terms.at(slot);
            List<float> ofPair(pairs);
            for (size_t k = 0; k < pairs; ++k)
                ofPair[k] = probes[slot == 0 ? k % count : k / count];
            size_t column = 0, pair = 0;
            for (size_t k = 0; k < traced.terms.size(); ++k) {
                const int source = m_columns[slot][column].source;
                fed[source][at[k] - traced.offsets[source]] = ofPair[pair];
                if (++column == width) column = 0;
                if (++pair == pairs) pair = 0;
            }
        }
        return evaluateFrom(graph, values);
    }

    List<float> evaluateFrom(const Graph& graph, std::map<int, Tensor>& values) const {
        OpenValues open({m_hidden});
        std::set<int> nodes;
        for (int value; open.next(value);) {
            if (values.count(value) || m_rows.inferred().values[value].known()) continue;
            const Node* node = graph.nodeOf(value);
            if (node && nodes.insert(graph.values[value].producer).second) open.add(node->inputs);
        }
        for (int n : nodes) {
            const Node& node = graph.nodes[n];
            List<Tensor> inputs;
            for (int in : node.inputs) {
                const auto found = values.find(in);
                inputs.push_back(in == kAbsent           ? Tensor()
                                 : found != values.end() ? found->second
                                                         : m_rows.inferred().values[in]);
            }
            const List<Tensor> outputs = evaluateNode(graph, node, inputs);
            for (size_t k = 0; k < node.outputs.size(); ++k)
                values[node.outputs[k]] = outputs[k];
        }
        return values.at(m_hidden).toFloats();
    }

    const RowMatcher& m_rows;
    Block& m_block;
    int m_hidden = kAbsent;  // value: the activation's result
    bool m_gated = false;
    List<Feed> m_feeds;         // by source
    List<Column> m_columns[2];  // by hidden channel
    List<int32_t> m_rowOfHidden;
};

}  // namespace

void matchMlp(const RowMatcher& rows, Block& block) {
    MlpMatcher(rows, block).run();
}

}  // namespace mpm::models
