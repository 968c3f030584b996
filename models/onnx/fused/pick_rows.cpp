// The pass that replaces gathers if their indices are computed. For example, a detector gathers the boxes
// with the best scores.
#include <algorithm>
#include <set>

#include "models/onnx/eval/call.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// The indices of a gather. Nodes may have repeated and reshaped the indices.
struct Index {
    int root = kAbsent;  // the value that contains each index once
    Tensor spread;       // for each index of the gather, the position in the root
};

class RowPicker {
public:
    explicit RowPicker(State& state) : m_graph(state.graph), m_shapes(state.shapes) {}

    void run() {
        List<Node> old;
        old.swap(m_graph.nodes);
        m_old = &old;
        for (const Node& node : old) {
            checkTime();
            if (!picksComputed(node) || !picks(node)) m_graph.nodes.push_back(node);
        }
        m_graph.arrange();
    }

private:
    const Tensor& tensorOf(int value) const { return m_shapes.at.values[value]; }
    const Shape& shapeOf(int value) const { return m_shapes.of(value); }
    bool isNew(int value) const { return value >= static_cast<int>(m_shapes.at.values.size()); }

    bool picksComputed(const Node& node) const {
        if (!node.is("GatherElements") && !node.is("Gather") && !node.is("GatherND")) return false;
        if (isNew(node.inputs[0]) || isNew(node.inputs[1]) || isNew(node.outputs[0])) return false;
        const bool table = node.is("Gather") && tensorOf(node.inputs[0]).rank() == 1;
        return tensorOf(node.inputs[0]).isFloat() && !tensorOf(node.inputs[1]).known() && !table &&
               shapeOf(node.outputs[0]).size() > 0;
    }

    bool picks(const Node& node) {
        if (node.is("GatherND")) return gatherND(node);
        return node.is("Gather") ? gather(node) : gatherElements(node);
    }

    const Node* producerOf(int value) const {
        const int n = m_graph.values[value].producer;
        return n == kAbsent ? nullptr : &(*m_old)[n];
    }

    // Goes back from the indices `value` to the root, through nodes that only repeat or reshape indices.
    Index indexOf(int value) const {
        List<const Node*> chain;
        Index index{value, {}};
        while (const Node* node = producerOf(index.root)) {
            const std::set<std::string> spreads{"Unsqueeze", "Squeeze",  "Reshape", "Expand",
                                                "Tile",      "Identity", "Flatten"};
            const bool cast = node->is("Cast") && tensorOf(node->inputs[0]).type() == Type::Int;
            if (!node->domain.empty() || (!spreads.count(node->op) && !cast)) break;
            bool known = true;
            for (size_t k = 1; k < node->inputs.size(); ++k)
                known &= node->inputs[k] == kAbsent || tensorOf(node->inputs[k]).known();
            if (!known) break;
            chain.push_back(node);
            index.root = node->inputs[0];
        }
        const auto count = static_cast<size_t>(tensorOf(index.root).size());
        Tensor spread = Tensor::vector(counted(count)).reshaped(shapeOf(index.root));
        for (size_t k = chain.size(); k-- > 0;) {
            List<Tensor> inputs{spread};
            for (size_t n = 1; n < chain[k]->inputs.size(); ++n)
                inputs.push_back(chain[k]->inputs[n] == kAbsent ? Tensor() : tensorOf(chain[k]->inputs[n]));
            spread = evaluateNode(m_graph, *chain[k], inputs).at(0);
        }
        index.spread = spread;
        return index;
    }

    // For each axis, returns whether the positions in `spread` vary along the axis. Along the varying axes,
    // the positions must count up from 0, fastest along `axis`. If they do not, returns an empty list.
    static List<char> varyingAxes(const Tensor& spread, int64_t axis) {
        const Shape& shape = spread.shape();
        List<char> varies(shape.size(), 0);
        const List<int64_t> step = stridesOf(shape);
        for (size_t d = 0; d < shape.size(); ++d)
            varies[d] =
                static_cast<int64_t>(d) == axis || (shape[d] > 1 && spread.at(step[d]) != spread.at(0));
        int64_t own = 1;
        List<int64_t> ownStep(shape.size(), 0);
        List<size_t> order{static_cast<size_t>(axis)};
        for (size_t d = shape.size(); d-- > 0;)
            if (varies[d] && static_cast<int64_t>(d) != axis) order.push_back(d);
        for (const size_t d : order) {
            ownStep[d] = own;
            own = checkedProduct<int64_t>(own, shape[d]);
        }
        for (int64_t k = 0; k < spread.size(); ++k) {
            int64_t expected = 0;
            for (size_t d = 0; d < shape.size(); ++d)
                expected += k / step[d] % shape[d] * ownStep[d];
            if (spread.at(k) != static_cast<double>(expected)) return {};
        }
        return varies;
    }

    bool gatherElements(const Node& node) {
        const Shape &data = shapeOf(node.inputs[0]), &picked = shapeOf(node.inputs[1]);
        const auto rank = static_cast<int64_t>(data.size());
        const int64_t axis = node.axis(0, data.size());
        for (int64_t d = 0; d < rank; ++d)
            if (d != axis && data[d] != picked[d]) return false;
        const Index index = indexOf(node.inputs[1]);
        List<char> varies = varyingAxes(index.spread, axis);
        if (varies.empty()) return false;
        // Orders the axes: batch, places, columns.
        if (axis > 0 && picked[0] == 1) varies[0] = 1;
        List<int64_t> order;
        for (int64_t d = 0; d < rank; ++d)
            if (varies[d] && d != axis) order.push_back(d);
        const size_t batches = order.size();
        order.push_back(axis);
        for (int64_t d = 0; d < rank; ++d)
            if (!varies[d]) order.push_back(d);
        write(node, index.root, order, batches, picked[axis]);
        return true;
    }

    // An MpmGatherRows needs separate places for each image, but a Gather has the same places for all images.
    // So this pass replaces a Gather only if there is a single image.
    bool gather(const Node& node) {
        const Shape &data = shapeOf(node.inputs[0]), &index = shapeOf(node.inputs[1]);
        const int64_t axis = node.axis(0, data.size());
        if (m_shapes.dynamic || elementCount(Shape(data.begin(), data.begin() + axis)) != 1) return false;
        write(node, node.inputs[1], counted(data.size()), static_cast<size_t>(axis), elementCount(index));
        return true;
    }

    // The indices are places in each image, [batch, picked, 1], or pairs of an image number and a place.
    bool gatherND(const Node& node) {
        const Shape &data = shapeOf(node.inputs[0]), &index = shapeOf(node.inputs[1]);
        const bool pairs = node.getInt("batch_dims", 0) == 0;
        if (index.size() != 3 || data.size() < 2 || index.back() != (pairs ? 2 : 1) || index[0] != data[0])
            return false;
        const Node* const joined = pairs ? producerOf(node.inputs[1]) : nullptr;
        if (pairs && !(joined && joined->is("Concat") && joined->inputs.size() == 2 &&
                       numbersImages(joined->inputs[0], index[1])))
            return false;
        const Index places = indexOf(pairs ? joined->inputs[1] : node.inputs[1]);
        for (int64_t k = 0; k < places.spread.size(); ++k)
            if (places.spread.at(k) != static_cast<double>(k)) return false;
        write(node, places.root, counted(data.size()), 1, index[1]);
        return true;
    }

    // Returns whether the value is 0 for each place of the first image, 1 for the second image, and so on.
    bool numbersImages(int value, int64_t places) const {
        const Tensor& numbers = tensorOf(value);
        if (!numbers.known() || m_shapes.dynamic) return false;
        for (int64_t k = 0; k < numbers.size(); ++k)
            if (numbers.at(k) != static_cast<double>(k / places)) return false;
        return true;
    }

    int fresh(const Node& node, const char* part) {
        return m_graph.addValue(m_graph.values[node.outputs[0]].name + part);
    }

    // Axis 0 must be the batch.
    void reshape(int from, List<int64_t> sizes, int to) {
        if (m_shapes.dynamic) sizes[0] = -1;
        m_graph.add("Reshape", {from, m_graph.addConstant("shape", Tensor::vector(sizes))}, to,
                    "mpm.internal");
    }

    void turn(int from, int to, const List<int64_t>& order) {
        m_graph.add("MpmTranspose", {from}, to, "mpm").set("perm", order);
    }

    static bool isStraight(const List<int64_t>& order) { return std::is_sorted(order.begin(), order.end()); }

    // If all images have the same data (for example anchors), returns the data of a single image.
    std::optional<Tensor> sharedData(int value, size_t batches) const {
        const Tensor& data = tensorOf(value);
        if (!data.known() || batches != 1 || data.rank() < 2 || data.dim(0) < 1) return std::nullopt;
        const int64_t each = data.size() / data.dim(0);
        Shape one = data.shape();
        one[0] = 1;
        List<float> values(each);
        for (int64_t k = 0; k < data.size(); ++k) {
            if (k < each) values[k] = data.f()[k];
            if (data.f()[k] != values[k % each]) return std::nullopt;
        }
        return Tensor::floats(one, values);
    }

    // `order` lists the axes of the data: `batches` axes of the batch, then the axis of places, then the axes
    // of columns.
    void write(const Node& node, int root, const List<int64_t>& order, size_t batches, int64_t picked) {
        const Shape& data = shapeOf(node.inputs[0]);
        int64_t batch = 1, columns = 1;
        for (size_t k = 0; k < order.size(); ++k) {
            if (k < batches) batch = checkedProduct<int64_t>(batch, data[order[k]]);
            if (k > batches) columns = checkedProduct<int64_t>(columns, data[order[k]]);
        }
        const int64_t places = data[order[batches]];
        int from = node.inputs[0];
        if (const auto one = sharedData(from, batches); one && isStraight(order)) {
            from = m_graph.addConstant("rows", one->reshaped({1, places, columns}));
        } else {
            if (!isStraight(order)) {
                const int turned = fresh(node, ".turned");
                turn(from, turned, order);
                from = turned;
            }
            const int rows = fresh(node, ".rows");
            reshape(from, {batch, places, columns}, rows);
            from = rows;
        }
        const int index = fresh(node, ".index"), best = fresh(node, ".picked");
        reshape(root, {batch, picked}, index);
        m_graph.add("MpmGatherRows", {from, index}, best, "mpm");
        finish(node, best, order);
    }

    void finish(const Node& node, int best, const List<int64_t>& order) {
        const Shape& out = shapeOf(node.outputs[0]);
        if (node.is("Gather") || isStraight(order)) return reshape(best, out, node.outputs[0]);
        List<int64_t> sizes, back(order.size());
        for (size_t k = 0; k < order.size(); ++k) {
            sizes.push_back(out[order[k]]);
            back[order[k]] = static_cast<int64_t>(k);
        }
        const int shaped = fresh(node, ".shaped");
        reshape(best, sizes, shaped);
        turn(shaped, node.outputs[0], back);
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    const List<Node>* m_old = nullptr;
};

}  // namespace

void pickRows(State& state) {
    RowPicker(state).run();
}

}  // namespace mpm::models
