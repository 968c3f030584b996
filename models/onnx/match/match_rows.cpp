#include "models/onnx/match/match_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/printable.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

bool close(float a, float b) {
    return std::abs(a - b) <= 2e-6f * std::max({1.f, std::abs(a), std::abs(b)});
}

bool close(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return false;
    for (int64_t k = 0; k < a.size(); ++k)
        if (!close(a.f()[k], b.f()[k])) return false;
    return true;
}

Tensor noiseLike(const Tensor& shape, uint32_t seed, float scale) {
    Tensor x = Tensor::zeros(shape.type(), shape.shape());
    for (int64_t k = 0; x.isFloat() && k < x.size(); ++k) {
        seed = seed * 1664525 + 1013904223;
        x.writeF()[k] = scale * (static_cast<float>(seed >> 8) / 8388608.f - 1);
    }
    return x;
}

RowMatcher::RowMatcher(const Graph& graph, const Inferred& inferred)
    : m_graph(graph), m_inferred(inferred), m_users(graph.users()), m_isOutput(graph.values.size(), 0) {
    // Ignores users that read only the shape of a value.
    const auto asksForSize = [&](int n) { return graph.nodes[n].is("Shape") || graph.nodes[n].is("Size"); };
    for (List<int>& users : m_users)
        users.erase(std::remove_if(users.begin(), users.end(), asksForSize), users.end());
    for (const Port& port : graph.outputs)
        m_isOutput[port.value] = 1;
}

int RowMatcher::downstream(int value, const std::function<Step(int node)>& visit) const {
    OpenValues open({value});
    for (int next; open.next(next);) {
        for (int n : usersOf(next)) {
            const Step step = visit(n);
            if (step == Step::Found) return n;
            if (step == Step::Follow) open.add(m_graph.nodes[n].outputs);
        }
    }
    return kAbsent;
}

std::set<int> RowMatcher::upstream(int value) const {
    OpenValues open({value});
    for (int v; open.next(v);)
        if (const Node* node = m_graph.nodeOf(v)) open.add(node->inputs);
    return std::move(open.seen());
}

bool RowMatcher::isMask(const Node& node) const {
    if (!node.is("Add") && !node.is("Where")) return false;
    const auto isKnown = [this](int value) { return value == kAbsent || m_inferred.values[value].known(); };
    for (int in : node.inputs) {
        const Node* before = m_graph.nodeOf(in);
        if (isKnown(in) || (before && before->is("MatMul"))) continue;
        for (int value : upstream(in))
            if (!isKnown(value) && m_inferred.values[value].type() == Type::Bool) return true;
    }
    return false;
}

bool RowMatcher::isNorm(const Node* node) const {
    if (!node || !ruleOf(*node) || shapeOf(node->inputs[0]).empty()) return false;
    const int64_t width = shapeOf(node->inputs[0]).back();
    for (size_t k = 1; k < 3; ++k) {
        const int parameter = node->input(k);
        if (parameter == kAbsent && k == 2) continue;
        if (!m_graph.isConstant(parameter) || m_graph.constant(parameter).size() != width) return false;
    }
    const int64_t axis = node->getInt("axis", -1);
    return axis == -1 || axis == static_cast<int64_t>(shapeOf(node->inputs[0]).size()) - 1;
}

std::string RowMatcher::describe(int value) const {
    const Node* node = m_graph.nodeOf(value);
    return node ? m_graph.describe(*node) : "'" + printable(m_graph.values[value].name, 200) + "'";
}

Norm RowMatcher::normOf(const Node& node) const {
    Norm norm;
    norm.weight = m_graph.constant(node.inputs[1]);
    if (node.input(2) != kAbsent) norm.bias = m_graph.constant(node.inputs[2]);
    norm.rule = *ruleOf(node);
    return norm;
}

List<int32_t> RowMatcher::rowNumbers(int value) const {
    List<int32_t> rows(elementCount(shapeOf(value)) / shapeOf(value).back());
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

namespace {

bool isZero(const Terms& terms, size_t begin, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
        const Term term = terms[begin + k];
        if (term.count() != 0 || term.constant != 0) return false;
    }
    return true;
}

}  // namespace

RowMatcher::Normed RowMatcher::normBehind(int value) const {
    const int64_t width = shapeOf(value).back();
    if (isNorm(m_graph.nodeOf(value))) return {m_graph.values[value].producer, rowNumbers(value)};
    const auto traced = trace(m_graph, m_inferred, value);
    if (!traced || traced->sources.size() != 1 || !isNorm(m_graph.nodeOf(traced->sources[0]))) {
        throw Mismatch{describe(value) +
                       " is not the result of a norm over the last axis: only blocks that normalise first "
                       "and then attend over "
                       "all tokens are supported"};
    }
    const int source = traced->sources[0];
    if (shapeOf(source).back() != width) throw Mismatch{describe(value) + " mixes tokens"};
    Normed normed;
    normed.norm = m_graph.values[source].producer;
    normed.rows.resize(traced->terms.size() / width);
    for (size_t row = 0; row < normed.rows.size(); ++row) {
        if (isZero(traced->terms, row * width, width)) {
            normed.rows[row] = kPadded;
            continue;
        }
        const int64_t first = traced->terms[row * width].at[0];  // the row's first element
        for (int64_t column = 0; column < width; ++column) {
            const Term term = traced->terms[row * width + column];
            const bool here = term.at[0] == first + column && first % width == 0;
            const bool plain = term.count() == 1 && term.factor[0] == 1 && term.constant == 0 &&
                               (here || term.at[0] % width == column);
            if (!plain) throw Mismatch{describe(value) + " changes the tokens after their norm"};
            if (!here) throw Mismatch{describe(value) + " mixes tokens"};
        }
        normed.rows[row] = static_cast<int32_t>(first / width);
    }
    return normed;
}

RowMatcher::Branch RowMatcher::linearBehind(int value) const {
    const auto read = [&](int linear, Branch& branch) {
        branch.linear = m_graph.values[linear].producer;
        branch.input = m_graph.nodes[branch.linear].inputs[0];
        branch.dense = denseOf(m_graph.nodes[branch.linear]);
    };
    if (isLinear(m_graph.nodeOf(value))) {
        Branch branch;
        read(value, branch);
        branch.rows = rowNumbers(value);
        branch.factor.assign(shapeOf(value).back(), 1.f);
        branch.constant.assign(shapeOf(value).back(), 0.f);
        return branch;
    }
    const auto traced = trace(m_graph, m_inferred, value);
    if (traced && traced->sources.size() == 1 && isLinear(m_graph.nodeOf(traced->sources[0]))) {
        Branch branch = branchOf(value, *traced);
        read(traced->sources[0], branch);
        return branch;
    }
    if (const auto joined = joinedLinear(m_graph, m_inferred, value)) {
        if (const auto behind = trace(m_graph, m_inferred, value, Follow::Affine, {joined->value})) {
            Branch branch = branchOf(value, *behind);
            branch.input = joined->input;
            branch.dense = joined->dense;
            return branch;
        }
    }
    throw Mismatch{describe(value) + " is not a linear layer's result"};
}

// Sets rows, factor and constant of the result: the source's row for each row of the value, and the scale and
// shift of each column. Throws Mismatch if the trace has several sources, moves an element to another column,
// or scales or shifts tokens differently.
RowMatcher::Branch RowMatcher::branchOf(int value, const Trace& traced) const {
    const int64_t width = shapeOf(value).back();
    Branch branch;
    if (traced.sources.size() != 1 || shapeOf(traced.sources[0]).back() != width)
        throw Mismatch{describe(value) + " mixes tokens"};
    branch.rows.resize(traced.terms.size() / width);
    branch.factor.resize(width);
    branch.constant.resize(width);
    for (size_t row = 0; row < branch.rows.size(); ++row) {
        const int64_t first = traced.terms[row * width].at[0];  // the row's first element
        if (first < 0 || first % width != 0) throw Mismatch{describe(value) + " mixes tokens or channels"};
        branch.rows[row] = static_cast<int32_t>(first / width);
        for (int64_t column = 0; column < width; ++column) {
            const Term term = traced.terms[row * width + column];
            if (term.count() != 1 || (term.at[0] != first + column && term.at[0] % width != column))
                throw Mismatch{describe(value) + " mixes tokens or channels"};
            if (row == 0) {
                branch.factor[column] = term.factor[0];
                branch.constant[column] = term.constant;
            }
            const bool same = term.at[0] == first + column && branch.factor[column] == term.factor[0] &&
                              branch.constant[column] == term.constant;
            if (!same) throw Mismatch{describe(value) + " treats tokens differently"};
        }
    }
    return branch;
}

}  // namespace mpm::models
