#include "models/onnx/passes/passes.hpp"

#include <algorithm>
#include <cmath>

#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/norm.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

class NormFuser {
public:
    NormFuser(Graph& graph, const Inferred& inferred)
        : m_graph(graph), m_inferred(inferred), m_rewriter(graph) {}

    void run() {
        for (Node& node : m_graph.nodes)  // ONNX Runtime's name for RMSNormalization
            if (node.is("SimplifiedLayerNormalization")) node.op = namesOf(NormKind::Rms).onnx;
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            if (!m_graph.nodes[n].is("ReduceMean")) continue;
            checkTime();
            fuse(static_cast<int>(n));
        }
        m_graph.prune();
    }

private:
    bool overLastAxis(const Node& node, int rank) const {
        List<int64_t> axes = node.getInts("axes");
        if (node.input(1) != kAbsent) {
            if (!m_graph.isConstant(node.inputs[1])) return false;
            axes = m_graph.constant(node.inputs[1]).toInts();
        }
        return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1) && node.getInt("keepdims", 1) == 1;
    }

    List<int> usersOf(int value, const char* op) const {
        List<int> users = m_rewriter.usersOf(value);
        const auto differs = [&](int n) { return !m_graph.nodes[n].is(op); };
        users.erase(std::remove_if(users.begin(), users.end(), differs), users.end());
        return users;
    }

    bool isSquare(const Node& node) const {
        if (node.inputs.size() != 2) return false;
        if (node.is("Pow")) return m_rewriter.scalar(node.inputs[1]) == 2;
        return node.is("Mul") && node.inputs[0] == node.inputs[1];
    }

    // Returns the mean of the squares of `centred`; kAbsent if no node computes this mean.
    int meanOfSquares(int centred) const {
        for (int n : m_rewriter.usersOf(centred)) {
            const Node& node = m_graph.nodes[n];
            if (!isSquare(node) || node.inputs[0] != centred) continue;
            for (int mean : usersOf(node.outputs[0], "ReduceMean"))
                if (overLastAxis(m_graph.nodes[mean], m_rank)) return m_graph.nodes[mean].outputs[0];
        }
        return kAbsent;
    }

    // Returns the values sqrt(sum) or 1 / sqrt(sum) that nodes compute.
    List<int> rootsOf(int sum) const {
        List<int> roots;
        for (int n : m_rewriter.usersOf(sum)) {
            const Node& node = m_graph.nodes[n];
            const bool power =
                node.is("Pow") && node.inputs[0] == sum && std::abs(m_rewriter.scalar(node.inputs[1])) == 0.5;
            if (power || node.is("Sqrt")) roots.push_back(node.outputs[0]);
        }
        return roots;
    }

    bool isInverse(int value) const {
        const int power = m_graph.values[value].producer;
        return m_graph.nodes[power].is("Pow") && m_rewriter.scalar(m_graph.nodes[power].inputs[1]) < 0;
    }

    List<int> quotients(int centred, int deviation) const {
        if (isInverse(deviation)) return productsOf(centred, deviation);
        List<int> found, inverses = usersOf(deviation, "Reciprocal");
        for (int division : usersOf(deviation, "Div")) {
            const int over = m_graph.nodes[division].inputs[0];
            if (over == centred) found.push_back(division);
            if (over != centred && m_rewriter.scalar(over) == 1) inverses.push_back(division);
        }
        for (int inverse : inverses) {
            const List<int> products = productsOf(centred, m_graph.nodes[inverse].outputs[0]);
            found.insert(found.end(), products.begin(), products.end());
        }
        return found;
    }

    List<int> productsOf(int centred, int factor) const {
        List<int> products = usersOf(factor, "Mul");
        const auto differs = [&](int n) {
            return Rewriter::otherOperand(m_graph.nodes[n], centred) == kAbsent;
        };
        products.erase(std::remove_if(products.begin(), products.end(), differs), products.end());
        return products;
    }

    // The last node of a norm, and its parameters, if any.
    struct End {
        int node = kAbsent, weight = kAbsent, bias = kAbsent;
    };

    // Returns pairs of a node and a constant of `width` elements. The node multiplies the result of `n` by
    // the constant if `op` is Mul, or adds the constant if `op` is Add. If the result of `n` has another
    // reader or no reader, also returns `n` without a constant.
    List<std::pair<int, int>> parameters(int n, const char* op, int64_t width) const {
        const int out = m_graph.nodes[n].outputs[0];
        List<std::pair<int, int>> found;
        bool plain = m_rewriter.isOutput(out) || m_rewriter.usersOf(out).empty();
        for (int user : m_rewriter.usersOf(out)) {
            const int constant = Rewriter::otherOperand(m_graph.nodes[user], out);
            const bool fits = m_graph.nodes[user].is(op) && m_graph.isConstant(constant) &&
                              isParameter(m_graph.constant(constant), width);
            if (fits) found.push_back({user, constant});
            plain |= !fits;
        }
        if (plain) found.push_back({n, kAbsent});
        return found;
    }

    static bool isParameter(const Tensor& t, int64_t width) {
        return t.size() == width && t.rank() >= 1 && t.dim(-1) == width;
    }

    void fuse(int mean) {
        const int x = m_graph.nodes[mean].inputs[0];
        const Node* square = m_graph.nodeOf(x);
        if (square && isSquare(*square)) return fuseRms(square->inputs[0], mean);
        m_rank = rankOf(x);
        if (m_rank == 0 || !overLastAxis(m_graph.nodes[mean], m_rank)) return;
        for (int subtraction : usersOf(m_graph.nodes[mean].outputs[0], "Sub")) {
            if (m_graph.nodes[subtraction].inputs[0] != x) continue;
            const int centred = m_graph.nodes[subtraction].outputs[0];
            const int variance = meanOfSquares(centred);
            if (variance != kAbsent) divide(NormKind::Layer, x, centred, variance);
            for (int n : usersOf(centred, namesOf(NormKind::Rms).onnx))
                centre(x, n);
        }
    }

    // Replaces an RMSNorm of x - mean(x) with a LayerNorm of x. ONNX Runtime writes such an RMSNorm if the
    // difference has several readers.
    void centre(int x, int n) {
        const Node rms = m_graph.nodes[n];
        const int64_t width = widthOf(x), axis = rms.getInt("axis", -1);
        const bool last = axis == -1 || axis == m_rank - 1;
        if (!last || width == 0 || !m_graph.isConstant(rms.input(1))) return;
        List<End> ends;
        for (const auto& [shifted, bias] : parameters(n, "Add", width))
            ends.push_back({shifted, rms.inputs[1], bias});
        write(NormKind::Layer, x, ends, rms.getFloat("epsilon", 1e-5f));
    }

    // Matches x -> its square -> mean -> root -> x / root.
    void fuseRms(int x, int mean) {
        m_rank = rankOf(x);
        if (m_rank == 0 || !overLastAxis(m_graph.nodes[mean], m_rank)) return;
        divide(NormKind::Rms, x, x, m_graph.nodes[mean].outputs[0]);
    }

    // Matches variance -> + epsilon -> square root -> centred / root.
    void divide(NormKind kind, int x, int centred, int variance) {
        if (widthOf(x) == 0) return;
        for (int add : usersOf(variance, "Add")) {
            const double epsilon = m_rewriter.scalar(Rewriter::otherOperand(m_graph.nodes[add], variance));
            if (std::isnan(epsilon)) continue;
            List<int> ends;
            for (int root : rootsOf(m_graph.nodes[add].outputs[0])) {
                const List<int> found = quotients(centred, root);
                ends.insert(ends.end(), found.begin(), found.end());
            }
            for (int last : ends)
                replaceBy(kind, x, last, static_cast<float>(epsilon));
        }
    }

    // Returns the rank of a value; 0 if the rank is unknown, because expandComposites() has added the value.
    int rankOf(int x) const {
        const bool known = static_cast<size_t>(x) < m_inferred.values.size();
        return known ? static_cast<int>(m_inferred.values[x].shape().size()) : 0;
    }

    int64_t widthOf(int x) const { return rankOf(x) > 0 ? m_inferred.values[x].shape().back() : 0; }

    // `last` gives the quotient of a norm: x / root or (x - mean) / root. Replaces all norms that have this
    // quotient: for example, the norm of a tap and the norm of the next block may share a quotient. A norm
    // may lack weight, bias or both, because optimisers fold weights and biases into the next product.
    void replaceBy(NormKind kind, int x, int last, float epsilon) {
        const int64_t width = widthOf(x);
        List<End> ends;
        for (const auto& [scaled, weight] : parameters(last, "Mul", width))
            for (const auto& [shifted, bias] : parameters(scaled, "Add", width))
                ends.push_back({shifted, weight, bias});
        write(kind, x, ends, epsilon);
    }

    void write(NormKind kind, int x, const List<End>& ends, float epsilon) {
        const int64_t width = widthOf(x);
        for (const End& end : ends) {
            Node& norm = m_graph.nodes[end.node];
            norm.op = namesOf(kind).onnx;
            norm.inputs = {x, end.weight != kAbsent ? flat(end.weight) : ones(width)};
            if (end.bias != kAbsent) norm.inputs.push_back(flat(end.bias));
            norm.attributes.clear();
            norm.set("axis", -1).set("epsilon", epsilon);
        }
        m_rewriter.refresh();
    }

    int ones(int64_t width) {
        return m_graph.addConstant("ones." + std::to_string(width),
                                   Tensor::floats({width}, List<float>(width, 1.0f)));
    }

    int flat(int constant) {
        const Tensor& t = m_graph.constant(constant);
        if (t.rank() == 1) return constant;
        return m_graph.addConstant(m_graph.values[constant].name + ".flat", t.reshaped({t.size()}));
    }

    Graph& m_graph;
    const Inferred& m_inferred;
    Rewriter m_rewriter;
    int m_rank = 1;  // rank of the norm's input, needed if the last axis is counted from the front
};

}  // namespace

void fuseNorms(Graph& graph, const Inferred& inferred) {
    NormFuser(graph, inferred).run();
}

}  // namespace mpm::models
