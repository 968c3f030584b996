#include "models/onnx/trace.hpp"

#include <algorithm>
#include <set>

namespace mpm::models {
namespace {

const std::set<std::string>& moves() {
    static const std::set<std::string> ops{"Reshape",  "Squeeze", "Unsqueeze", "Flatten", "Transpose",
                                           "Slice",    "Split",   "Concat",    "Gather",  "Expand",
                                           "Identity", "Dropout", "Cast",      "Select"};
    return ops;
}

const std::set<std::string>& elementwise() {
    static const std::set<std::string> ops{
        "Neg", "Abs", "Sqrt", "Exp",        "Log",  "Erf",         "Tanh",  "Sigmoid", "Relu", "Gelu",
        "Pow", "Max", "Min",  "Softplus",   "Clip", "HardSwish",   "Mish",  "Swish",   "Add",  "Sub",
        "Mul", "Div", "Elu",  "Reciprocal", "Sign", "HardSigmoid", "Where", "Greater", "Less", "LeakyRelu"};
    return ops;
}

using Terms = std::vector<Term>;

class Tracer {
public:
    Tracer(const Graph& graph, const Inferred& inferred, Follow follow, const std::vector<int>& stop)
        : m_graph(graph), m_inferred(inferred), m_follow(follow), m_stop(stop.begin(), stop.end()) {}

    std::optional<Trace> run(int value) {
        if (!shapeKnown(value)) return std::nullopt;
        collect(value);
        std::sort(m_nodes.begin(), m_nodes.end());
        int64_t total = 0;
        for (int source : m_sources) {
            m_trace.sources.push_back(source);
            m_trace.offsets.push_back(total);
            m_terms[source] = identity(source, total);
            total += m_inferred.values[source].size();
        }
        if (total > INT32_MAX) return std::nullopt;
        for (int n : m_nodes) {
            if (!step(m_graph.nodes[n])) return std::nullopt;
        }
        m_trace.shape = m_inferred.values[value].shape();
        m_trace.terms = operand(value);
        return m_trace;
    }

private:
    bool shapeKnown(int value) const { return m_inferred.values[value].type() == Type::Float; }
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }
    bool isKnown(int value) const { return m_inferred.values[value].known(); }

    // Depth-first without recursion: graphs can be deep.
    void collect(int start) {
        std::vector<int> open{start};
        std::set<int> seen;
        while (!open.empty()) {
            const int value = open.back();
            open.pop_back();
            if (!seen.insert(value).second || isKnown(value)) continue;
            const Node* node = m_graph.nodeOf(value);
            if (!node || m_stop.count(value) || !canFollow(m_graph, m_inferred, *node, m_follow)) {
                if (std::find(m_sources.begin(), m_sources.end(), value) == m_sources.end())
                    m_sources.push_back(value);
                continue;
            }
            const int n = m_graph.values[value].producer;
            if (std::find(m_nodes.begin(), m_nodes.end(), n) == m_nodes.end()) m_nodes.push_back(n);
            for (int in : node->inputs) {
                if (in != kAbsent && m_inferred.values[in].isFloat()) open.push_back(in);
            }
        }
    }

    Terms identity(int value, int64_t offset) const {
        Terms terms(m_inferred.values[value].size());
        for (size_t k = 0; k < terms.size(); ++k) {
            terms[k].at[0] = static_cast<int32_t>(offset + static_cast<int64_t>(k));
            terms[k].factor[0] = 1;
        }
        return terms;
    }

    Terms operand(int value) {
        const auto found = m_terms.find(value);
        if (found != m_terms.end()) return found->second;
        Terms terms(m_inferred.values[value].size());
        for (size_t k = 0; k < terms.size(); ++k)
            terms[k].constant = m_inferred.values[value].f()[k];
        return terms;
    }

    bool step(const Node& node) {
        if (moves().count(node.op)) return move(node);
        if (node.op == "Add" || node.op == "Sub") return sum(node);
        if (m_follow == Follow::Affine && (node.op == "Mul" || node.op == "Div")) return scale(node);
        if (m_follow == Follow::Affine) return negate(node);
        return depend(node);
    }

    // Terms of `value` at every element of `shape`, broadcast.
    Terms spread(int value, const Shape& shape) {
        Terms terms = operand(value);
        if (shapeOf(value) == shape) return terms;
        const size_t skip = shape.size() - shapeOf(value).size();
        Terms wide(elementCount(shape));
        for (size_t k = 0; k < wide.size(); ++k) {
            int64_t rest = static_cast<int64_t>(k), position = 0, step = 1;
            for (size_t d = shape.size(); d-- > 0;) {
                const int64_t index = rest % shape[d];
                rest /= shape[d];
                if (d < skip) continue;
                const int64_t extent = shapeOf(value)[d - skip];
                if (extent != 1) position += index * step;
                step *= extent;
            }
            wide[k] = terms[position];
        }
        return wide;
    }

    static bool accumulate(Term& to, const Term& from, float sign) {
        to.constant += sign * from.constant;
        for (int k = 0; k < 2 && from.at[k] >= 0; ++k) {
            int slot = 0;
            while (slot < 2 && to.at[slot] >= 0 && to.at[slot] != from.at[k])
                ++slot;
            if (slot == 2) return false;
            to.at[slot] = from.at[k];
            to.factor[slot] += sign * from.factor[k];
        }
        return true;
    }

    bool sum(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        Terms left = spread(node.inputs[0], shape);
        const Terms right = spread(node.inputs[1], shape);
        const float sign = node.op == "Sub" ? -1.f : 1.f;
        for (size_t k = 0; k < left.size(); ++k) {
            if (!accumulate(left[k], right[k], sign)) return false;
        }
        m_terms[node.outputs[0]] = std::move(left);
        return true;
    }

    bool scale(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        const bool first = isKnown(node.inputs[0]) && node.op == "Mul";
        Terms terms = spread(node.inputs[first ? 1 : 0], shape);
        const Terms by = spread(node.inputs[first ? 0 : 1], shape);
        for (size_t k = 0; k < terms.size(); ++k) {
            const float factor = node.op == "Mul" ? by[k].constant : 1 / by[k].constant;
            for (float& f : terms[k].factor)
                f *= factor;
            terms[k].constant *= factor;
        }
        m_terms[node.outputs[0]] = std::move(terms);
        return true;
    }

    bool negate(const Node& node) {
        Terms terms = operand(node.inputs[0]);
        for (Term& term : terms) {
            for (float& f : term.factor)
                f = -f;
            term.constant = -term.constant;
        }
        m_terms[node.outputs[0]] = std::move(terms);
        return true;
    }

    bool depend(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        Terms all(elementCount(shape));
        for (int in : node.inputs) {
            if (in == kAbsent || isKnown(in)) continue;
            const Terms terms = spread(in, shape);
            for (size_t k = 0; k < all.size(); ++k) {
                if (!accumulate(all[k], terms[k], 1)) return false;
            }
        }
        m_terms[node.outputs[0]] = std::move(all);
        return true;
    }

    bool move(const Node& node) {
        if (node.op == "Concat") return join(node);
        if (node.op == "Split") return cut(node);
        if (node.op == "Gather") return pick(node);
        if (node.op == "Select") return select(node);
        const int from = node.inputs[0];
        Terms& to = m_terms[node.outputs[0]];
        if (node.op == "Expand") {
            to = spread(from, shapeOf(node.outputs[0]));
        } else if (node.op == "Transpose" || node.op == "Slice") {
            to = walk(node, operand(from));
        } else {
            to = operand(from);  // the order of the elements does not change
        }
        return true;
    }

    // Transposes and slices read their input in steps along every output axis.
    Terms walk(const Node& node, const Terms& from) const {
        const Shape& in = shapeOf(node.inputs[0]);
        const Shape& out = shapeOf(node.outputs[0]);
        std::vector<int64_t> step(in.size(), 1), stride(in.size(), 1);
        for (size_t d = in.size(); d-- > 1;)
            stride[d - 1] = stride[d] * in[d];
        int64_t start = 0;
        if (node.op == "Transpose") {
            const std::vector<int64_t> order = node.getInts("perm");
            for (size_t d = 0; d < in.size(); ++d) {
                const int64_t axis = order.empty() ? static_cast<int64_t>(in.size() - 1 - d) : order[d];
                step[d] = stride[axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis];
            }
        } else {
            step = stride;
            const std::vector<int64_t> starts = listOf(node, 1, "starts");
            const std::vector<int64_t> axes = listOf(node, 3, "axes"), by = listOf(node, 4, "steps");
            for (size_t k = 0; k < starts.size(); ++k) {
                const int64_t given = axes.empty() ? static_cast<int64_t>(k) : axes[k];
                const size_t axis =
                    static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(in.size()) : given);
                int64_t first = starts[k] < 0 ? starts[k] + in[axis] : starts[k];
                const int64_t pace = by.empty() ? 1 : by[k];
                first = std::min(std::max<int64_t>(first, 0), pace > 0 ? in[axis] : in[axis] - 1);
                start += first * stride[axis];
                step[axis] = stride[axis] * pace;
            }
        }
        return read(from, out, start, step);
    }

    static Terms read(const Terms& from, const Shape& out, int64_t start, const std::vector<int64_t>& step) {
        Terms to(elementCount(out));
        std::vector<int64_t> index(out.size(), 0);
        int64_t position = start;
        for (Term& term : to) {
            term = from[position];
            for (size_t d = out.size(); d-- > 0;) {
                position += step[d];
                if (++index[d] < out[d]) break;
                position -= step[d] * out[d];
                index[d] = 0;
            }
        }
        return to;
    }

    std::vector<int64_t> listOf(const Node& node, size_t input, const char* attribute) const {
        const int value = node.input(input);
        return value == kAbsent ? node.getInts(attribute) : m_inferred.values[value].toInts();
    }

    // Seen as outer x axis x inner.
    struct Axis {
        int64_t outer = 1, extent = 1, inner = 1;
    };

    static Axis axisOf(const Shape& shape, int64_t axis) {
        Axis a;
        if (axis < 0) axis += static_cast<int64_t>(shape.size());
        for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
            (d < axis ? a.outer : d == axis ? a.extent : a.inner) *= shape[d];
        }
        return a;
    }

    bool join(const Node& node) {
        const int64_t axis = node.getInt("axis", 1);
        const Axis whole = axisOf(shapeOf(node.outputs[0]), axis);
        Terms to(whole.outer * whole.extent * whole.inner);
        int64_t done = 0;
        for (int in : node.inputs) {
            const Terms from = operand(in);
            const int64_t run = axisOf(shapeOf(in), axis).extent * whole.inner;
            for (int64_t o = 0; o < whole.outer; ++o) {
                std::copy_n(from.begin() + o * run, run, to.begin() + o * whole.extent * whole.inner + done);
            }
            done += run;
        }
        m_terms[node.outputs[0]] = std::move(to);
        return true;
    }

    bool cut(const Node& node) {
        const int64_t axis = node.getInt("axis", 0);
        const Terms from = operand(node.inputs[0]);
        const Axis whole = axisOf(shapeOf(node.inputs[0]), axis);
        int64_t done = 0;
        for (int out : node.outputs) {
            if (out == kAbsent) return false;
            const int64_t run = axisOf(shapeOf(out), axis).extent * whole.inner;
            Terms& to = m_terms[out];
            to.clear();
            for (int64_t o = 0; o < whole.outer; ++o) {
                const auto begin = from.begin() + o * whole.extent * whole.inner + done;
                to.insert(to.end(), begin, begin + run);
            }
            done += run;
        }
        return true;
    }

    bool pick(const Node& node) {
        const Terms from = operand(node.inputs[0]);
        const std::vector<int64_t> at = m_inferred.values[node.inputs[1]].toInts();
        const Axis whole = axisOf(shapeOf(node.inputs[0]), node.getInt("axis", 0));
        Terms& to = m_terms[node.outputs[0]];
        to.clear();
        for (int64_t o = 0; o < whole.outer; ++o) {
            for (int64_t index : at) {
                const int64_t row = o * whole.extent + (index < 0 ? index + whole.extent : index);
                to.insert(to.end(), from.begin() + row * whole.inner, from.begin() + (row + 1) * whole.inner);
            }
        }
        return true;
    }

    bool select(const Node& node) {
        const size_t count = node.outputs.size();
        const bool first = m_inferred.values[node.inputs[0]].at(0) != 0;
        for (size_t k = 0; k < count; ++k)
            m_terms[node.outputs[k]] = operand(node.inputs[1 + k + (first ? 0 : count)]);
        return true;
    }

    const Graph& m_graph;
    const Inferred& m_inferred;
    const Follow m_follow;
    const std::set<int> m_stop;
    std::vector<int> m_nodes;
    std::vector<int> m_sources;
    std::map<int, Terms> m_terms;
    Trace m_trace;
};

}  // namespace

std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value, Follow follow,
                           const std::vector<int>& stop) {
    return Tracer(graph, inferred, follow, stop).run(value);
}

bool canFollow(const Graph&, const Inferred& inferred, const Node& node, Follow follow) {
    if (!node.domain.empty() && node.op != "Select") return false;
    for (int out : node.outputs) {
        if (out != kAbsent && inferred.values[out].type() != Type::Float) return false;
    }
    if (moves().count(node.op)) {
        const bool data = node.op == "Concat" || node.op == "Select";
        for (size_t k = 1; k < node.inputs.size() && !data; ++k) {
            if (node.inputs[k] != kAbsent && !inferred.values[node.inputs[k]].known()) return false;
        }
        return node.op != "Select" || inferred.values[node.inputs[0]].known();
    }
    if (node.op == "Add" || node.op == "Sub" || node.op == "Neg") return true;
    if (node.op == "Mul" && follow == Follow::Affine) {
        return inferred.values[node.inputs[0]].known() || inferred.values[node.inputs[1]].known();
    }
    if (node.op == "Div" && follow == Follow::Affine) return inferred.values[node.inputs[1]].known();
    return follow == Follow::Dependence && elementwise().count(node.op) != 0;
}

}  // namespace mpm::models
