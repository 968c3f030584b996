#include "models/onnx/trace/trace.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

const std::set<std::string>& moves() {
    static const std::set<std::string> ops{
        "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Slice",  "Split", "Concat",
        "Gather",  "Expand",  "Identity",  "Dropout", "Cast",      "Select", "Pad",   "Tile"};
    return ops;
}

const std::set<std::string>& elementwise() {
    static const std::set<std::string> ops{
        "Neg",     "Abs",  "Sqrt",      "Exp",  "Log",      "Erf",        "Tanh",      "Sigmoid",     "Relu",
        "Gelu",    "Pow",  "Max",       "Min",  "Softplus", "Clip",       "HardSwish", "Mish",        "Swish",
        "Add",     "Sub",  "Mul",       "Div",  "Elu",      "Reciprocal", "Sign",      "HardSigmoid", "Where",
        "Greater", "Less", "LeakyRelu", "Celu", "Selu",     "Softsign"};
    return ops;
}

// Returns the input element of each output element: `start` plus the sum of index * step over all axes.
List<int32_t> walk(const Shape& out, int64_t start, const List<int64_t>& step) {
    const int64_t count = elementCount(out);
    checkRoom(checkedProduct<int64_t>(count, 4), kPurpose);
    List<int32_t> order(static_cast<size_t>(count));
    List<int64_t> index(out.size(), 0);
    int64_t position = start;
    for (int32_t& at : order) {
        at = static_cast<int32_t>(position);
        for (size_t d = out.size(); d-- > 0;) {
            position += step[d];
            if (++index[d] < out[d]) break;
            position -= step[d] * out[d];
            index[d] = 0;
        }
    }
    return order;
}

// Returns the input element of each output element. indexAt(axis, output's index) gives the input's index. If
// this index is outside of the axis, returns an index past the end: the number of input elements.
List<int32_t> placed(const Shape& in, const Shape& out,
                     const std::function<int64_t(size_t, int64_t)>& indexAt) {
    const int64_t count = elementCount(out), last = elementCount(in);
    checkRoom(checkedProduct<int64_t>(count, 4), kPurpose);
    List<int32_t> order(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        int64_t rest = k, at = 0, step = 1;
        bool inside = true;
        for (size_t d = in.size(); d-- > 0; rest /= out[d]) {
            const int64_t index = indexAt(d, rest % out[d]);
            inside &= index >= 0 && index < in[d];
            at += index * step;
            step *= in[d];
        }
        order[k] = static_cast<int32_t>(inside ? at : last);
    }
    return order;
}

class Tracer {
public:
    Tracer(const Graph& graph, const Inferred& inferred, Follow follow, const List<int>& stop)
        : m_graph(graph), m_inferred(inferred), m_follow(follow), m_stop(stop.begin(), stop.end()) {}

    std::optional<Trace> run(int value) {
        if (!shapeKnown(value)) return std::nullopt;
        collect(value);
        std::sort(m_nodes.begin(), m_nodes.end());
        int64_t total = 0;
        for (int source : m_sources) {
            if (isNew(source)) return std::nullopt;
            const int64_t size = m_inferred.values[source].size();
            if (size > INT32_MAX - total) return std::nullopt;
            checkRoom(checkedProduct<int64_t>(size, 4), kPurpose);
            m_trace.sources.push_back(source);
            m_trace.offsets.push_back(total);
            m_terms[source] = Terms::identity(size, total);
            total += size;
        }
        for (int n : m_nodes) {
            checkTime();
            if (!step(m_graph.nodes[n])) return std::nullopt;
        }
        m_trace.shape = m_inferred.values[value].shape();
        m_trace.terms = operand(value);
        return m_trace;
    }

private:
    bool shapeKnown(int value) const { return m_inferred.values[value].type() == Type::Float; }
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }
    bool isKnown(int value) const { return !isNew(value) && m_inferred.values[value].known(); }
    // Returns whether a pass has added the value after shapes were inferred.
    bool isNew(int value) const { return static_cast<size_t>(value) >= m_inferred.values.size(); }

    // Collects nodes and sources depth-first, but without recursion, because graphs can be deep.
    void collect(int start) {
        OpenValues open({start});
        std::set<int> nodes;
        for (int value; open.next(value);) {
            if (isKnown(value)) continue;
            const Node* node = m_graph.nodeOf(value);
            if (!node || m_stop.count(value) || !canFollow(m_inferred, *node, m_follow)) {
                m_sources.push_back(value);  // only once, because `open` gives each value once
                continue;
            }
            const int n = m_graph.values[value].producer;
            if (nodes.insert(n).second) m_nodes.push_back(n);
            for (int in : node->inputs) {
                if (in != kAbsent && (isNew(in) || m_inferred.values[in].isFloat())) open.add(in);
            }
        }
    }

    Terms operand(int value) {
        const auto found = m_terms.find(value);
        if (found != m_terms.end()) return found->second;
        const Tensor& constant = m_inferred.values[value];
        return Terms::constants(constant.f(), constant.size());
    }

    bool step(const Node& node) {
        if (moves().count(node.op)) return move(node);
        if (node.op == "Add" || node.op == "Sub") return sum(node);
        if (m_follow == Follow::Affine && (node.op == "Mul" || node.op == "Div")) return scale(node);
        if (m_follow == Follow::Affine) {
            const Terms terms = operand(node.inputs[0]);
            const List<float> minus(terms.size(), -1.f);
            m_terms[node.outputs[0]] =
                terms.scaled(Terms::constants(minus.data(), static_cast<int64_t>(minus.size())), false);
            return true;
        }
        return depend(node);
    }

    Terms spread(int value, const Shape& shape) {
        const Terms terms = operand(value);
        const Shape& own = shapeOf(value);
        if (own == shape) return terms;
        if (own.size() > shape.size()) throw Refusal("shapes do not fit: the file is damaged");
        return terms.picked(walk(shape, 0, broadcastStrides(own, shape)));
    }

    bool sum(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        const float sign = node.op == "Sub" ? -1.f : 1.f;
        const Terms left = spread(node.inputs[0], shape), right = spread(node.inputs[1], shape);
        Terms& to = m_terms[node.outputs[0]];
        if (m_follow == Follow::Dependence)
            return unite(left, right, isKnown(node.inputs[0]), isKnown(node.inputs[1]), to);
        return Terms::sum(left, right, sign, to);
    }

    static bool unite(const Terms& left, const Terms& right, bool leftKnown, bool rightKnown, Terms& to) {
        if (leftKnown || rightKnown) {
            to = leftKnown ? right : left;
            return true;
        }
        return Terms::united(left, right, to);
    }

    bool scale(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        const bool first = isKnown(node.inputs[0]) && node.op == "Mul";
        const Terms terms = spread(node.inputs[first ? 1 : 0], shape);
        m_terms[node.outputs[0]] = terms.scaled(spread(node.inputs[first ? 0 : 1], shape), node.op == "Div");
        return true;
    }

    bool depend(const Node& node) {
        const Shape& shape = shapeOf(node.outputs[0]);
        Terms all;
        for (int in : node.inputs) {
            if (in == kAbsent || isKnown(in) || !m_inferred.values[in].isFloat()) continue;
            const Terms terms = spread(in, shape);
            if (all.size() == 0) {
                all = terms;
            } else if (!Terms::united(Terms(all), terms, all)) {
                return false;
            }
        }
        m_terms[node.outputs[0]] = all;
        return all.size() == static_cast<size_t>(elementCount(shape));
    }

    bool move(const Node& node) {
        if (node.op == "Concat") return join(node);
        if (node.op == "Split") return cut(node);
        if (node.op == "Select") return select(node);
        if (node.op == "Pad") return pad(node);
        if (node.op == "Tile") return repeat(node);
        const int from = node.inputs[0];
        Terms& to = m_terms[node.outputs[0]];
        if (node.op == "Gather") {
            to = operand(from).picked(rowsPicked(node));
        } else if (node.op == "Expand") {
            to = spread(from, shapeOf(node.outputs[0]));
        } else if (node.op == "Transpose" || node.op == "Slice") {
            to = operand(from).picked(steps(node));
        } else {
            to = operand(from);  // the order of the elements does not change
        }
        return true;
    }

    // Returns the elements that a Transpose or Slice reads, in constant steps along every output axis.
    List<int32_t> steps(const Node& node) const {
        const Shape& in = shapeOf(node.inputs[0]);
        const Shape& out = shapeOf(node.outputs[0]);
        const List<int64_t> stride = stridesOf(in);
        List<int64_t> step = stride;
        int64_t start = 0;
        if (node.op == "Transpose") {
            const List<int64_t> order = node.getInts("perm");
            for (size_t d = 0; d < in.size(); ++d) {
                const int64_t axis = order.empty() ? static_cast<int64_t>(in.size() - 1 - d) : order[d];
                step[d] = stride[axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis];
            }
        } else {
            const List<int64_t> starts = listOf(m_inferred, node, 1, "starts"),
                                axes = listOf(m_inferred, node, 3, "axes"),
                                by = listOf(m_inferred, node, 4, "steps");
            for (size_t k = 0; k < starts.size(); ++k) {
                const int64_t given = axes.empty() ? static_cast<int64_t>(k) : axes[k];
                const size_t axis =
                    static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(in.size()) : given);
                int64_t first = starts[k] < 0 ? starts[k] + in[axis] : starts[k];
                const int64_t pace = by.empty() ? 1 : by[k];
                first = std::min(std::max<int64_t>(first, 0), pace > 0 ? in[axis] : in[axis] - 1);
                start = checkedSum<int64_t>(start, checkedProduct<int64_t>(first, stride[axis]));
                step[axis] = out[axis] > 1 ? checkedProduct<int64_t>(stride[axis], pace) : 0;
            }
        }
        return walk(out, start, step);
    }

    // The extent of an axis, and the products of the extents before (`outer`) and after (`inner`) the axis.
    struct Axis {
        int64_t outer, extent, inner;
    };

    static Axis axisOf(const Shape& shape, int64_t axis) {
        const size_t rank = shape.size(), at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
        return {extentOf(shape, 0, at), shape[at], extentOf(shape, at + 1, rank)};
    }

    // Joins the terms of all inputs one after the other, then interleaves the inputs' rows as in the output.
    bool join(const Node& node) {
        const int64_t axis = node.getInt("axis", 1);
        const Axis whole = axisOf(shapeOf(node.outputs[0]), axis);
        const int64_t count = elementCount(shapeOf(node.outputs[0]));
        checkRoom(checkedProduct<int64_t>(count, 4), kPurpose);
        List<Terms> parts;
        List<int32_t> order(static_cast<size_t>(count));
        int64_t done = 0, before = 0;
        for (int in : node.inputs) {
            parts.push_back(operand(in));
            const int64_t run = checkedProduct<int64_t>(axisOf(shapeOf(in), axis).extent, whole.inner);
            const int64_t row = checkedProduct<int64_t>(whole.extent, whole.inner);
            if (done + run > row) throwOutside(done + run, order.size());
            for (int64_t o = 0; o < whole.outer; ++o) {
                const auto begin = order.begin() + o * row + done;
                std::iota(begin, begin + run, static_cast<int32_t>(before + o * run));
            }
            done += run;
            before += run * whole.outer;
        }
        m_terms[node.outputs[0]] = Terms::joined(parts).picked(order);
        return true;
    }

    List<int32_t> rowsOf(const Axis& whole, const List<int64_t>& rows) const {
        const size_t count = checkedProduct<size_t>(whole.outer, rows.size(), whole.inner);
        checkRoom(checkedProduct<int64_t>(static_cast<int64_t>(count), 4), kPurpose);
        List<int32_t> order;
        order.reserve(count);
        for (int64_t o = 0; o < whole.outer; ++o) {
            for (int64_t row : rows) {
                const int64_t begin = (o * whole.extent + row) * whole.inner;
                for (int64_t k = 0; k < whole.inner; ++k)
                    order.push_back(static_cast<int32_t>(begin + k));
            }
        }
        return order;
    }

    bool cut(const Node& node) {
        const int64_t axis = node.getInt("axis", 0);
        const Terms from = operand(node.inputs[0]);
        const Axis whole = axisOf(shapeOf(node.inputs[0]), axis);
        int64_t done = 0;
        for (int out : node.outputs) {
            if (out == kAbsent) return false;
            List<int64_t> rows(axisOf(shapeOf(out), axis).extent);
            std::iota(rows.begin(), rows.end(), done);
            m_terms[out] = from.picked(rowsOf(whole, rows));
            done += static_cast<int64_t>(rows.size());
        }
        return true;
    }

    List<int32_t> rowsPicked(const Node& node) const {
        const Axis whole = axisOf(shapeOf(node.inputs[0]), node.getInt("axis", 0));
        List<int64_t> rows = m_inferred.values[node.inputs[1]].toInts();
        for (int64_t& row : rows)
            row += row < 0 ? whole.extent : 0;
        return rowsOf(whole, rows);
    }

    // Appends the fill value to the operand's elements, and picks the output's elements from this list.
    bool pad(const Node& node) {
        const Shape& in = shapeOf(node.inputs[0]);
        const List<int64_t> pads = listOf(m_inferred, node, 1, "pads");
        const int value = node.input(2);
        const auto fill =
            static_cast<float>(value == kAbsent ? node.getFloat("value", 0) : m_inferred.values[value].at(0));
        if (pads.size() != 2 * in.size()) return false;
        const Terms both = Terms::joined({operand(node.inputs[0]), Terms::constants(&fill, 1)});
        m_terms[node.outputs[0]] = both.picked(
            placed(in, shapeOf(node.outputs[0]), [&](size_t d, int64_t index) { return index - pads[d]; }));
        return true;
    }

    bool repeat(const Node& node) {
        const Shape &in = shapeOf(node.inputs[0]), &out = shapeOf(node.outputs[0]);
        if (in.size() != out.size()) return false;
        m_terms[node.outputs[0]] =
            operand(node.inputs[0]).picked(placed(in, out, [&](size_t d, int64_t index) {
                return index % in[d];
            }));
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
    List<int> m_nodes;
    List<int> m_sources;
    std::map<int, Terms> m_terms;
    Trace m_trace;
};

}  // namespace

std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value, Follow follow,
                           const List<int>& stop) {
    return Tracer(graph, inferred, follow, stop).run(value);
}

bool canFollow(const Inferred& inferred, const Node& node, Follow follow) {
    if (!node.domain.empty() && node.op != "Select") return false;
    for (int out : node.outputs) {
        if (out == kAbsent) continue;
        const bool known = static_cast<size_t>(out) < inferred.values.size();
        if (!known || inferred.values[out].type() != Type::Float) return false;
    }
    if (moves().count(node.op)) {
        const bool data = node.op == "Concat" || node.op == "Select";
        for (size_t k = 1; k < node.inputs.size() && !data; ++k) {
            if (node.inputs[k] != kAbsent && !inferred.values[node.inputs[k]].known()) return false;
        }
        if (node.op == "Pad" &&
            (node.getString("mode", "constant") != "constant" || node.input(3) != kAbsent))
            return false;
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
