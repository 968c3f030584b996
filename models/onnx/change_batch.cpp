#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/checked.hpp"
#include "models/onnx/bind.hpp"

namespace mpm::models {
namespace {

// Changes a graph to another batch size. Follows the batch from the image to the outputs: each value either
// has the batch in a single axis, or is the same for all images.
class BatchChange {
public:
    BatchChange(Graph& graph, const Binding& own, const Binding& wanted)
        : m_graph(graph),
          m_old(infer(graph, own.inputs)),
          m_batch(wanted.inputs[0].dim(0)),
          m_new(graph.values.size()) {
        for (size_t v = 0; v < graph.values.size(); ++v)
            m_new[v] = graph.values[v].constant;
        for (size_t k = 0; k < graph.inputs.size(); ++k)
            m_new[graph.inputs[k].value] = wanted.inputs[k];
    }

    void run() {
        const size_t nodes = m_graph.nodes.size();
        for (size_t n = 0; n < nodes; ++n) {
            repeatInputs(n);
            const Node& node = m_graph.nodes[n];
            const bool complete =
                node.input(0) != kAbsent && !node.outputs.empty() && node.outputs[0] != kAbsent;
            if (complete && node.is("Resize")) changeResize(m_graph.nodes[n]);
            if (complete && m_graph.nodes[n].is("Reshape")) changeReshape(n);  // may add nodes
            advance(m_graph.nodes[n]);
        }
        finish();
    }

private:
    void finish() {
        for (Port& port : m_graph.outputs) {
            const auto place = placeOf(port.value);
            if (!place || place->axis != 0 || place->outer != 1)
                throw Refusal("an output is not one of each image");
            if (port.hasShape && !port.dims.empty()) port.dims[0] = m_new[port.value].dim(0);
        }
        for (Port& port : m_graph.inputs)
            port.dims[0] = m_batch;
        m_graph.arrange();
    }

    // The axis that contains the batch. The axis may be a product of the batch and other extents, such as
    // heads; `outer` is the product of the extents in front of the batch in this axis.
    struct Place {
        size_t axis = 0;
        int64_t outer = 1;
    };

    std::optional<Place> placeOf(int value) const {
        if (value == kAbsent || m_graph.isConstant(value)) return std::nullopt;
        const Shape &before = m_old.values[value].shape(), &now = m_new[value].shape();
        std::optional<Place> found;
        for (size_t k = 0; k < before.size() && before.size() == now.size(); ++k) {
            if (now[k] == before[k]) continue;
            if (found || now[k] != checkedProduct<int64_t>(before[k], m_batch))
                throw Refusal("a value combines images");
            const auto outer = m_outer.find(value);
            found = Place{k, outer == m_outer.end() ? 1 : outer->second};
        }
        if (before.size() != now.size()) throw Refusal("a value has another rank");
        return found;
    }

    void advance(const Node& node) {
        List<Tensor> inputs;
        int64_t outer = 1;
        for (int in : node.inputs) {
            inputs.push_back(in == kAbsent ? Tensor() : m_new[in]);
            if (const auto place = placeOf(in); place && outer == 1) outer = place->outer;
            if (node.is("Flatten") && placeOf(in) && placeOf(in)->axis > 0)
                throw Refusal("a Flatten joins the batch with other axes");
        }
        const List<Tensor> outputs = evaluateNode(m_graph, node, inputs);
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k] == kAbsent) continue;
            m_new[node.outputs[k]] = outputs[k];
            if (!node.is("Reshape")) m_outer[node.outputs[k]] = outer;
        }
    }

    int addList(const char* name, const List<int64_t>& list) {
        const Tensor tensor = Tensor::vector(list);
        m_old.values.push_back(tensor);
        m_new.push_back(tensor);
        return m_graph.addConstant(name, tensor);
    }

    // If all images share an input that the node cannot broadcast, repeats this input for each image.
    void repeatInputs(size_t n) {
        const Node node = m_graph.nodes[n];
        for (size_t other = 0; other < node.inputs.size(); ++other) {
            const auto place = placeOf(node.inputs[other]);
            if (!place) continue;
            for (size_t k = 0; k < node.inputs.size(); ++k) {
                if (node.inputs[k] == kAbsent || placeOf(node.inputs[k])) continue;
                const auto axis = axisBeside(node, other, *place, k);
                if (!axis) continue;
                if (place->outer != 1) throw Refusal("a value is repeated inside an axis");
                m_graph.nodes[n].inputs[k] = repeated(node.inputs[k], *axis);
            }
            return;
        }
    }

    // Returns the axis of input k that must be as long as the batch axis of input `other`, if there is one.
    std::optional<size_t> axisBeside(const Node& node, size_t other, const Place& place, size_t k) const {
        const Shape &shape = m_new[node.inputs[k]].shape(), &images = m_new[node.inputs[other]].shape();
        if (node.is("Einsum")) {
            std::string text = node.getString("equation", "");
            text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
            std::istringstream equation(text);
            List<std::string> terms;
            for (std::string term; std::getline(equation, term, ',');)
                terms.push_back(term.substr(0, term.find('-')));
            if (terms.size() != node.inputs.size() || place.axis >= terms[other].size()) return std::nullopt;
            const size_t axis = terms[k].find(terms[other][place.axis]);
            return axis < shape.size() ? std::optional<size_t>(axis) : std::nullopt;
        }
        const size_t behind = images.size() - place.axis;
        if (shape.size() < behind) return std::nullopt;
        const size_t axis = shape.size() - behind;
        const bool product = node.is("MatMul");
        if (node.is("Concat"))
            return node.axis(0, shape.size()) == static_cast<int64_t>(axis) ? std::nullopt
                                                                            : std::optional(axis);
        if (node.isAny({"GatherElements", "ScatterElements", "GridSample"})) return axis;
        const bool broadcasts = product ? behind > 2 : node.isAny({"Add", "Sub", "Mul", "Div", "Where"});
        return broadcasts && shape[axis] > 1 ? std::optional(axis) : std::nullopt;
    }

    int repeated(int value, size_t axis) {
        const auto [known, isNew] = m_repeated.try_emplace({value, axis}, kAbsent);
        if (!isNew) return known->second;
        List<int64_t> times(m_new[value].shape().size(), 1);
        times[axis] = m_batch;
        const int repeats = addList("repeats", times), result = m_graph.addValue("repeated");
        const Node& tile = m_graph.add("Tile", {value, repeats}, result);
        m_old.values.push_back(m_new[value]);
        m_new.push_back(evaluateNode(m_graph, tile, {m_new[value], m_new[repeats]})[0]);
        known->second = result;
        return result;
    }

    // In the target shape, multiplies the axis that contains the batch by the batch size. A Reshape does not
    // change the product of the extents in front of the batch, so placeIn() finds the axis by this product.
    // If the found axis is the last axis (the channels) and longer than 1, placeIn() takes the axis in front
    // of the last axis instead.
    void changeReshape(size_t n) {
        const int source = m_graph.nodes[n].inputs[0];
        if (!placeOf(source)) {
            const auto inFront = askedIn(m_graph.nodes[n]);
            if (!inFront) return;
            const Place place = placeIn(m_old.values[source].shape(), *inFront);
            if (place.outer != 1) throw Refusal("a value is repeated inside an axis");
            m_graph.nodes[n].inputs[0] = repeated(source, place.axis);
        }
        Node& node = m_graph.nodes[n];
        const auto from = placeOf(node.inputs[0]);
        if (!from) return;
        const Shape &before = m_old.values[node.inputs[0]].shape(),
                    &to = m_old.values[node.outputs[0]].shape();
        int64_t inFront = from->outer;
        for (size_t k = 0; k < from->axis; ++k)
            inFront = checkedProduct<int64_t>(inFront, before[k]);
        const Place place = placeIn(to, inFront);
        List<int64_t> target(to.begin(), to.end());
        target[place.axis] = checkedProduct<int64_t>(target[place.axis], m_batch);
        node.inputs[1] = addList("shape", target);
        node.attributes.erase("allowzero");
        m_outer[node.outputs[0]] = place.outer;
    }

    // If the target shape is computed and contains the batch, returns the product of the extents in front of
    // the batch.
    std::optional<int64_t> askedIn(const Node& node) const {
        const int target = node.input(1);
        if (target == kAbsent || !m_old.values[target].known() || !m_new[target].known()) return std::nullopt;
        const List<int64_t> before = m_old.values[target].toInts(), now = m_new[target].toInts();
        const Shape& to = m_old.values[node.outputs[0]].shape();
        int64_t inFront = 1;
        for (size_t k = 0; k < to.size() && k < before.size() && before.size() == now.size(); ++k) {
            if (now[k] != before[k]) return inFront;
            inFront = checkedProduct<int64_t>(inFront, to[k]);
        }
        return std::nullopt;
    }

    static Place placeIn(const Shape& to, int64_t inFront) {
        int64_t passed = 1;
        for (size_t k = 0; k < to.size(); ++k) {
            const int64_t end = checkedProduct<int64_t>(passed, to[k]);
            const bool last = k + 1 == to.size();
            if (passed == inFront && (to[k] == 1 || k == 0 || !last)) return {k, 1};
            const bool nextIsOne = !last && to[k + 1] == 1, nextIsLast = k + 2 >= to.size();
            if (end > inFront || (end == inFront && nextIsLast && !nextIsOne)) {
                if (inFront % passed) break;
                return {k, inFront / passed};
            }
            passed = end;
        }
        throw Refusal("a Reshape cuts the batch");
    }

    void changeResize(Node& node) {
        const int sizes = node.input(3);
        if (sizes == kAbsent || !m_new[sizes].known() || !placeOf(node.inputs[0])) return;
        List<int64_t> wanted = m_new[sizes].toInts();
        const Shape& now = m_new[node.inputs[0]].shape();
        if (wanted.size() != now.size()) return;  // lists only some axes
        wanted[0] = now[0];
        node.inputs[3] = addList("sizes", wanted);
    }

    Graph& m_graph;
    Inferred m_old;
    const int64_t m_batch;
    List<Tensor> m_new;
    std::map<int, int64_t> m_outer;
    std::map<std::pair<int, size_t>, int> m_repeated;  // key: value and axis
};

}  // namespace

std::optional<Graph> withBatch(Graph graph, const Binding& own, const Binding& wanted) {
    try {
        BatchChange(graph, own, wanted).run();
        return graph;
    } catch (const Refusal&) {
        return std::nullopt;
    }
}

}  // namespace mpm::models
