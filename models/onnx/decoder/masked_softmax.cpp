#include "models/onnx/decoder/axes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

constexpr double kLowest = -1e9;  // a key with this bias or less has no weight

class MaskedSoftmaxMatch {
public:
    MaskedSoftmaxMatch(const Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    bool match(const Node& softmax) {
        const int input = softmax.inputs[0];
        const Shape& shape = of(input).shape();
        const int64_t rank = of(input).rank(), axis = softmax.getInt("axis", -1);
        if ((rank != 3 && rank != 4) || (axis != -1 && axis != rank - 1)) return false;
        const Node* node = m_graph.nodeOf(input);
        if (!node || !(node->is("Add") || node->is("Where")) || !findLogits(input)) return false;
        const int64_t images = shapeOf(m_graph.inputs[0].value)[0];
        const int64_t rows = rank == 3 ? shape[0] : checkedProduct<int64_t>(shape[0], shape[1]);
        if (images < 1 || rows % images || m_logitShape[0] != images) return false;
        m_extents = {{kImage, images},
                     {kHead, rows / images},
                     {kQuery, shape[rank - 2]},
                     {kRow, m_logitShape[2]},
                     {kColumn, m_logitShape[3]}};
        m_axes = {{kImage, kHead}, {kQuery}, {kRow, kColumn}};
        if (rank == 4) m_axes = {{kImage}, {kHead}, {kQuery}, {kRow, kColumn}};
        m_output = softmax.outputs[0];
        m_name = softmax.name;
        return m_logitShape[1] == shape[rank - 2] &&
               elementCount({m_logitShape[2], m_logitShape[3]}) == shape[rank - 1] &&
               (node->is("Add") ? matchBias(*node) : matchFill(*node, AxisLayout(input, m_axes, m_extents)));
    }

    int output() const { return m_output; }

    void write(Graph& graph) const {
        const int64_t queries = m_extents.at(kQuery), keys = shapeOf(m_scores).back();
        const bool split = of(m_scores).rank() == 4;
        const int scores = split ? reshaped(graph, m_scores, {-1, queries, keys}, "scores") : m_scores;
        const int masks =
            of(m_logits).rank() == 4 ? reshaped(graph, m_logits, {-1, queries, keys}, "masks") : m_logits;
        const int weights = split ? graph.addValue("weights") : m_output;
        graph.add("MpmMaskedSoftmax", {scores, masks}, weights, "mpm", m_name);
        if (split) reshape(graph, weights, {-1, m_extents.at(kHead), queries, keys}, m_output);
    }

private:
    const Tensor& of(int value) const { return m_inferred.values[value]; }
    const Shape& shapeOf(int value) const { return of(value).shape(); }

    static void reshape(Graph& graph, int from, const Shape& shape, int to) {
        // The domain mpm.internal makes lower() keep the node.
        graph.add("Reshape", {from, graph.addConstant("shape", Tensor::vector(shape))}, to, "mpm.internal");
    }

    static int reshaped(Graph& graph, int from, const Shape& shape, const char* name) {
        const int to = graph.addValue(name);
        reshape(graph, from, shape, to);
        return to;
    }

    // Searches upstream of the softmax for the comparison that gives the mask, and for the logits that the
    // comparison reads.
    bool findLogits(int input) {
        List<int> open{input};
        std::set<int> seen;
        while (!open.empty() && seen.size() < kMostSteps) {
            const Node* node = m_graph.nodeOf(open.back());
            open.pop_back();
            if (!node) continue;
            if ((node->is("Less") || node->is("GreaterOrEqual")) && readLogits(*node)) return true;
            const bool follows = node->is("Add") || node->is("Mul") || node->is("Where") || node->is("And") ||
                                 node->is("Or") || node->is("Not") || node->is("ScatterND") || isMove(*node);
            for (int in : node->inputs)
                if (follows && in != kAbsent && seen.insert(in).second) open.push_back(in);
        }
        return false;
    }

    // Matches sigmoid(logits) < 0.5, or logits < 0.
    bool readLogits(const Node& comparison) {
        double threshold = 0;
        if (!isUniform(of(comparison.inputs[1]), threshold)) return false;
        int value = comparison.inputs[0];
        const Node* node = m_graph.nodeOf(value);
        for (int step = 0; step < kMostSteps && node && isMove(*node); ++step) {
            value = node->inputs[0];
            node = m_graph.nodeOf(value);
        }
        const bool sigmoid = node && node->is("Sigmoid");
        if (sigmoid) value = node->inputs[0];
        if (threshold != (sigmoid ? 0.5 : 0.0) || !of(value).isFloat()) return false;
        m_comparison = &comparison;
        m_logits = value;
        m_logitShape = shapeOf(value);
        if (m_logitShape.size() == 3) m_logitShape.push_back(1);
        return m_logitShape.size() == 4;
    }

    // Matches scores + bias. The bias is at most kLowest for hidden keys, else 0.
    bool matchBias(const Node& add) {
        for (size_t k : {0, 1}) {
            m_scores = add.inputs[k];
            AxisLayout at(add.outputs[0], m_axes, m_extents);
            if (shapeOf(m_scores) != shapeOf(add.outputs[0])) continue;
            at.enter(m_inferred, add.inputs[1 - k]);
            double scale = 1;
            const Node* node = nullptr;
            for (int step = 0; step < kMostSteps; ++step) {
                node = m_graph.nodeOf(at.value());
                if (!node || node->is("Where")) break;
                double factor = 0;
                const size_t known = node->is("Mul") && isUniform(of(node->inputs[0]), factor) ? 0 : 1;
                if (node->is("Mul") && isUniform(of(node->inputs[known]), factor) && factor > 0) {
                    scale *= factor;
                    at.enter(m_inferred, node->inputs[1 - known]);
                } else if (!at.back(m_graph, m_inferred)) {
                    break;
                }
            }
            if (node && node->is("Where") && isBias(*node, scale) && matchHidden(at, *node, scale))
                return true;
        }
        return false;
    }

    bool isBias(const Node& where, double scale) const {
        double first = 0, second = 0;
        if (!isUniform(of(where.inputs[1]), first) || !isUniform(of(where.inputs[2]), second)) return false;
        return (first * scale <= kLowest && second == 0) || (second * scale <= kLowest && first == 0);
    }

    // Matches a Where that replaces the scores of hidden keys with a number of at most kLowest.
    bool matchFill(const Node& where, const AxisLayout& at) {
        for (size_t k : {1, 2}) {
            double number = 0;
            m_scores = where.inputs[3 - k];
            if (!isUniform(of(where.inputs[k]), number) || number > kLowest) continue;
            return shapeOf(m_scores) == shapeOf(where.outputs[0]) && matchHidden(at, where, 1);
        }
        return false;
    }

    // Returns whether the Where selects a number of at most kLowest for exactly the hidden keys.
    bool matchHidden(AxisLayout at, const Node& where, double scale) const {
        double number = 0;
        bool hides = isUniform(of(where.inputs[1]), number) && number * scale <= kLowest;
        at.enter(m_inferred, where.inputs[0]);
        int guards = 0;
        for (int step = 0; step < kMostSteps; ++step) {
            const Node* node = m_graph.nodeOf(at.value());
            if (!node) return false;
            if (node == m_comparison) {
                return guards == 1 && hides == node->is("Less") && matchLogits(at);
            }
            if (node->is("Not")) {
                hides = !hides;
                at.enter(m_inferred, node->inputs[0]);
            } else if (const int guarded =
                           guards == 0 ? guardedBy(m_graph, m_inferred, *node, hides) : kAbsent;
                       guarded != kAbsent) {
                ++guards;
                at.enter(m_inferred, guarded);
            } else if (!at.back(m_graph, m_inferred)) {
                return false;
            }
        }
        return false;
    }

    bool matchLogits(AxisLayout at) const {
        at.enter(m_inferred, m_comparison->inputs[0]);
        for (int step = 0; step < kMostSteps && at.value() != m_logits; ++step) {
            const Node* node = m_graph.nodeOf(at.value());
            if (node && node->is("Sigmoid")) {
                at.enter(m_inferred, node->inputs[0]);
            } else if (!at.back(m_graph, m_inferred)) {
                return false;
            }
        }
        return at.value() == m_logits &&
               (at.is({{kImage}, {kQuery}, {kRow}, {kColumn}}) || at.is({{kImage}, {kQuery}, {kRow}}));
    }

    const Graph& m_graph;
    const Inferred& m_inferred;
    const Node* m_comparison = nullptr;
    Extents m_extents;
    Axes m_axes;
    Shape m_logitShape;
    std::string m_name;
    int m_scores = kAbsent, m_logits = kAbsent, m_output = kAbsent;
};

}  // namespace

int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred) {
    List<MaskedSoftmaxMatch> found;
    for (const Node& node : graph.nodes) {
        if (!node.is("Softmax") || inferred.values[node.inputs[0]].type() != Type::Float) continue;
        checkTime();
        MaskedSoftmaxMatch match(graph, inferred);
        if (match.match(node)) found.push_back(match);
    }
    for (const MaskedSoftmaxMatch& match : found) {
        graph.release(match.output());
        match.write(graph);
    }
    if (found.empty()) return 0;
    graph.arrange();
    return static_cast<int>(found.size());
}

}  // namespace mpm::models
