#include "models/onnx/match/match_mlp.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/onnx/ir/activation.hpp"

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
        const Node& fc2 = m_rows.graph().nodes[branch.linear];
        m_block.mlp.fc2 = withBranch(m_rows.denseOf(fc2), branch.factor, branch.constant);
        m_hidden = fc2.inputs[0];
        const Node* before = m_rows.graph().nodeOf(m_hidden);
        if (m_rows.isNorm(before)) {
            m_block.mlp.inner = m_rows.normOf(*before);
            m_hidden = before->inputs[0];
        }
        const auto traced = trace(m_rows.graph(), m_rows.inferred(), m_hidden, Follow::Dependence);
        if (!traced || traced->sources.empty() || traced->sources.size() > 2)
            fail("its activation mixes more than two channels");
        for (int source : traced->sources) {
            if (!m_rows.isLinear(m_rows.graph().nodeOf(source)))
                fail("its activation does not follow a linear layer");
        }
        readColumns(*traced);
        const List<int32_t> rows = rowsOfSources(*traced);
        for (size_t r = 0; r < branch.rows.size(); ++r) {
            if (rows[branch.rows[r]] != static_cast<int32_t>(r))
                fail("its residual adds tokens to other tokens");
        }
        identify(*traced);
    }

    // Which columns of which linear layers each hidden channel depends on.
    void readColumns(const Trace& traced) {
        const int64_t width = m_rows.shapeOf(m_hidden).back();
        m_gated = traced.terms[0].count() == 2;
        for (int slot = 0; slot < (m_gated ? 2 : 1); ++slot)
            m_columns[slot].resize(width);
        m_rowOfHidden.resize(traced.terms.size() / width);
        for (size_t k = 0; k < traced.terms.size(); ++k) {
            const Term term = traced.terms[k];
            if (term.count() != (m_gated ? 2 : 1)) fail("its channels are not alike");
            for (int slot = 0; slot < term.count(); ++slot) {
                const Column column = locate(traced, term.at[slot]);
                if (k < static_cast<size_t>(width)) m_columns[slot][k] = column;
                const Column& known = m_columns[slot][k % width];
                if (known.source != column.source || known.column != column.column)
                    fail("its channels are not alike");
                if (slot == 0 && k % width == 0) m_rowOfHidden[k / width] = column.row;
                if (m_rowOfHidden[k / width] != column.row) fail("it mixes tokens");
            }
        }
    }

    struct Column {
        int source = 0;
        int32_t row = 0, column = 0;
    };

    Column locate(const Trace& traced, int64_t at) const {
        Column found;
        while (found.source + 1 < static_cast<int>(traced.sources.size()) &&
               at >= traced.offsets[found.source + 1])
            ++found.source;
        const int64_t width = m_rows.shapeOf(traced.sources[found.source]).back();
        const int64_t inside = at - traced.offsets[found.source];
        found.row = static_cast<int32_t>(inside / width);
        found.column = static_cast<int32_t>(inside % width);
        return found;
    }

    // The row of the stream of every hidden row; checks that the linear layers read norm2 of the stream.
    List<int32_t> rowsOfSources(const Trace& traced) {
        List<int32_t> rows;
        int norm = kAbsent;
        for (int source : traced.sources) {
            const RowMatcher::Normed normed = m_rows.normBehind(m_rows.graph().nodeOf(source)->inputs[0]);
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

    Dense take(const Trace& traced, int slot) const {
        const List<Column>& columns = m_columns[slot];
        const Dense dense = m_rows.denseOf(*m_rows.graph().nodeOf(traced.sources[columns[0].source]));
        const int64_t width = dense.weight.dim(1), depth = dense.weight.dim(0),
                      count = static_cast<int64_t>(columns.size());
        bool whole = width == count;
        for (int64_t k = 0; k < count; ++k) {
            whole &= columns[k].column == k;
            if (columns[k].source != columns[0].source) fail("its gate is spread over two linear layers");
        }
        if (whole) return dense;
        Dense result;
        result.weight = Tensor(Type::Float, {depth, count});
        result.weight.allocate();
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
        return result;
    }

    // Evaluates the nodes in between at the probes and compares with the activations of the operator. The
    // closest two, gelu and gelu_tanh, lie 5e-4 apart; constants rounded to half precision, such as the root
    // of 2, move one by 3e-5.
    void identify(const Trace& traced) {
        const List<float> result = runProbes(traced);
        const size_t count = activationProbes().size();
        const size_t pairs = m_gated ? count * count : count;
        for (const auto& [name, f] : activations()) {
            for (int gate = 0; gate < (m_gated ? 2 : 1); ++gate) {
                bool fits = true;
                for (size_t k = 0; k < result.size(); ++k) {
                    const float x[2] = {activationProbes()[k % pairs % count],
                                        activationProbes()[k % pairs / count]};
                    const float expected = m_gated ? f(x[gate]) * x[1 - gate] : f(x[0]);
                    fits &= std::abs(result[k] - expected) <= 1e-4f * std::max(1.f, std::abs(expected));
                }
                if (!fits) continue;
                m_block.mlp.activation = name;
                m_block.mlp.fc1 = take(traced, m_gated ? 1 - gate : 0);
                if (m_gated) m_block.mlp.gate = take(traced, gate);
                return;
            }
        }
        fail("its activation is none of gelu, gelu_tanh, gelu_quick, silu, relu (gated or not)");
    }

    // Hidden values where the k-th (row, channel) sees the k-th pair of probes.
    List<float> runProbes(const Trace& traced) {
        const Graph& graph = m_rows.graph();
        std::map<int, Tensor> values;
        for (int source : traced.sources)
            values[source] = Tensor::floats(m_rows.shapeOf(source));
        const int64_t width = m_rows.shapeOf(m_hidden).back();
        const size_t count = activationProbes().size();
        const size_t pairs = m_gated ? count * count : count;
        for (size_t k = 0; k < traced.terms.size(); ++k) {
            for (int slot = 0; slot < (m_gated ? 2 : 1); ++slot) {
                const Column& column = m_columns[slot][k % width];
                Tensor& to = values[traced.sources[column.source]];
                const int64_t at = m_rowOfHidden[k / width] * to.shape().back() + column.column;
                to.writeF()[at] = activationProbes()[slot == 0 ? k % pairs % count : k % pairs / count];
            }
        }
        return evaluateFrom(graph, values);
    }

    List<float> evaluateFrom(const Graph& graph, std::map<int, Tensor>& values) const {
        List<int> open{m_hidden};
        std::set<int> nodes;
        while (!open.empty()) {
            const int value = open.back();
            open.pop_back();
            const Node* node = values.count(value) || m_rows.inferred().values[value].known()
                                   ? nullptr
                                   : graph.nodeOf(value);
            if (!node || !nodes.insert(graph.values[value].producer).second) continue;
            for (int in : node->inputs) {
                if (in != kAbsent) open.push_back(in);
            }
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
    List<Column> m_columns[2];  // by hidden channel
    List<int32_t> m_rowOfHidden;
};

}  // namespace

void matchMlp(const RowMatcher& rows, Block& block) {
    MlpMatcher(rows, block).run();
}

}  // namespace mpm::models
