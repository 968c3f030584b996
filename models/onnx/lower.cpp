#include "models/onnx/lower.hpp"

#include <algorithm>
#include <set>

namespace mpm::models {
namespace {

class Lowering {
public:
    Lowering(Graph& graph, const Shapes& shapes) : m_graph(graph), m_shapes(shapes) {}

    void run() {
        std::vector<Node> old;
        old.swap(m_graph.nodes);
        for (Node& node : old) {
            m_node = &node;
            lowerNode();
        }
        for (Node& node : m_graph.nodes) {
            if (node.domain == "mpm.internal") node.domain.clear();
        }
        m_graph.sort();
        m_graph.prune();
        checkComplete();
    }

private:
    using Method = void (Lowering::*)();

    static const std::map<std::string, Method>& methods() {
        static const std::map<std::string, Method> all = [] {
            std::map<std::string, Method> m;
            for (const char* op : {"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
                m[op] = &Lowering::reshape;
            for (const char* op : {"Identity", "Dropout", "Cast", "CastLike"})
                m[op] = &Lowering::pass;
            for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"})
                m[op] = &Lowering::arithmetic;
            for (const char* op : {"Abs", "Cos", "Erf", "Exp", "Gelu", "Log", "Neg", "Reciprocal", "Sin",
                                   "Softplus", "Sqrt"}) {
                m[op] = &Lowering::function;
            }
            m["Linear"] = &Lowering::linear;
            m["MatMul"] = &Lowering::matMul;
            m["LayerNormalization"] = &Lowering::layerNorm;
            m["Transpose"] = &Lowering::transpose;
            m["Slice"] = &Lowering::slice;
            m["Split"] = &Lowering::split;
            m["Gather"] = &Lowering::gather;
            m["Expand"] = &Lowering::expand;
            m["Softmax"] = &Lowering::softmax;
            m["Resize"] = &Lowering::resize;
            m["Upsample"] = &Lowering::resize;
            m["Conv"] = &Lowering::convolution;
            m["ConvTranspose"] = &Lowering::convolution;
            m["Clip"] = &Lowering::clip;
            m["Pad"] = &Lowering::pad;
            for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"})
                m[op] = &Lowering::reduce;
            for (const char* op :
                 {"AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization",
                  "Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Concat", "HardSwish", "ArgMax",
                  "InstanceNormalization", "DepthToSpace", "PRelu"}) {
                m[op] = &Lowering::keep;
            }
            return m;
        }();
        return all;
    }

    void lowerNode() {
        if (followsFromShapes()) return;
        const bool own =
            m_node->domain == "mpm" || (m_node->domain == "mpm.internal" && m_node->op == "Reshape");
        if (own) return keep();
        const auto method = methods().find(m_node->op);
        const bool standard = m_node->domain.empty() || m_node->op == "Linear";
        if (!standard || method == methods().end())
            fail("is not available in OpenCV 4.6 and has no equivalent");
        (this->*method->second)();
    }

    // What is worked out from the batch size alone is only read by nodes whose own shapes say the same.
    bool followsFromShapes() const {
        if (m_node->domain == "mpm") return false;
        for (int value : m_node->outputs) {
            const bool original = value != kAbsent && value < static_cast<int>(m_shapes.at.values.size());
            if (!original || !m_shapes.at.values[value].known()) return false;
        }
        return true;
    }

    // Something that was left out is needed after all.
    void checkComplete() const {
        std::set<int> there;
        for (const Port& port : m_graph.inputs)
            there.insert(port.value);
        for (const Node& node : m_graph.nodes)
            there.insert(node.outputs.begin(), node.outputs.end());
        for (const Node& node : m_graph.nodes) {
            for (int value : node.inputs) {
                if (value == kAbsent || m_graph.isConstant(value) || there.count(value)) continue;
                throw Refusal("operator " + m_graph.describe(node) +
                              " computes with the batch size: convert with --batch B");
            }
        }
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Refusal("operator " + m_graph.describe(*m_node) + " outside of the encoder " + what);
    }

    int in(size_t k) const { return m_node->inputs[k]; }
    int out() const { return m_node->outputs[0]; }
    const Shape& shapeOf(int value) const { return m_shapes.of(value); }
    const Tensor& known(size_t k) const {
        const int value = m_node->input(k);
        if (value == kAbsent || !m_graph.isConstant(value)) fail("has an input that is not a constant");
        return m_graph.constant(value);
    }

    Node& emit(const std::string& op, const std::string& domain, const std::vector<int>& inputs, int output) {
        Node node;
        node.op = op;
        node.domain = domain;
        node.name = m_node->name;
        node.inputs = inputs;
        node.outputs = {output};
        m_graph.nodes.push_back(std::move(node));
        return m_graph.nodes.back();
    }

    int ints(const std::vector<int64_t>& values) {
        return m_graph.addConstant("ints", Tensor::vector(values));
    }

    void keep() { m_graph.nodes.push_back(*m_node); }

    // Reshaping to its own shape is the identity every OpenCV has.
    void pass() { emitReshape(in(0), out(), shapeOf(in(0))); }

    void reshape() { emitReshape(in(0), out(), shapeOf(in(0))); }

    // The target's batch axis copies the input's where it can, or is whatever is left.
    void emitReshape(int from, int to, const Shape& source) {
        const Shape& shape = shapeOf(to);
        if (shape.empty()) fail("makes a scalar, which OpenCV has not");
        std::vector<int64_t> target(shape.begin(), shape.end());
        bool open = false;
        for (size_t k = 0; k < shape.size(); ++k) {
            if (!m_shapes.isBatch(to, k)) continue;
            const bool copies = k < source.size() && m_shapes.isBatch(from, k) && shape[k] == source[k];
            if (!copies && open) fail("spreads the batch over several axes");
            target[k] = copies ? 0 : -1;
            open |= !copies;
        }
        emit("Reshape", "", {from, ints(target)}, to);
    }

    // A value that is the same for every picture, as a constant of one: its readers repeat it.
    int onePicture(int value) {
        if (m_graph.isConstant(value) || value >= static_cast<int>(m_shapes.at.values.size())) return value;
        const Tensor& t = m_shapes.at.values[value];
        if (!t.known() || !t.isFloat() || !m_shapes.dynamic) return value;
        Shape shape = t.shape();
        size_t axis = 0;
        while (axis < shape.size() && !m_shapes.isBatch(value, axis))
            ++axis;
        if (axis == shape.size()) return value;
        const int64_t period =
            m_shapes.other.values[value].shape()[axis] - shape[axis];  // of one picture more
        int64_t inner = period;
        for (size_t k = axis + 1; k < shape.size(); ++k)
            inner *= shape[k];
        if (period < 1 || shape[axis] % period) return value;
        const int64_t whole = inner / period * shape[axis];
        std::vector<float> one;
        for (int64_t k = 0; k < t.size(); ++k) {
            const int64_t first = k / whole * whole + k % whole % inner;
            if (t.f()[k] != t.f()[first]) return value;
            if (k == first) one.push_back(t.f()[k]);
        }
        shape[axis] = period;
        return m_graph.addConstant(m_graph.values[value].name + ".one", Tensor::floats(shape, one));
    }

    void matMul() {
        int a = onePicture(in(0)), b = onePicture(in(1));
        const bool reversed = m_graph.isConstant(a);
        if (reversed) std::swap(a, b);
        if (shapeOf(in(0)).size() < 2 || shapeOf(in(1)).size() < 2) fail("multiplies a vector");
        Node& node = emit("MpmMatMul", "mpm", {a, b}, out());
        if (reversed) node.attributes["reversed"] = Attribute::of(int64_t{1});
    }

    void arithmetic() {
        if (m_node->inputs.size() != 2) fail("has more than two operands");
        int a = onePicture(in(0)), b = onePicture(in(1));
        const bool reversed = m_graph.isConstant(a);
        if (reversed) std::swap(a, b);
        const bool commutes = m_node->op == "Add" || m_node->op == "Mul";
        if (commutes && !m_graph.isConstant(b) && shapeOf(a) == shapeOf(b)) return keep();
        if (m_graph.isConstant(b)) b = ranked(b, shapeOf(out()).size());
        std::string operation = m_node->op;
        std::transform(operation.begin(), operation.end(), operation.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        Node& node = emit("MpmArithmetic", "mpm", {a, b}, out());
        node.attributes["operation"] = Attribute::of(operation);
        if (reversed && !commutes) node.attributes["reversed"] = Attribute::of(int64_t{1});
    }

    // A constant with ones in front: OpenCV 4.x turns vectors into columns.
    int ranked(int constant, size_t rank) {
        const Tensor& t = m_graph.constant(constant);
        Shape shape = t.shape();
        if (shape.size() >= std::max<size_t>(rank, 2)) return constant;
        shape.insert(shape.begin(), std::max<size_t>(rank, 2) - shape.size(), 1);
        return m_graph.addConstant(m_graph.values[constant].name + ".ranked", t.reshaped(shape));
    }

    void function() {
        std::string name = m_node->op;
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        if (m_node->is("Gelu") && m_node->getString("approximate", "none") == "tanh") name = "gelu_tanh";
        emit("MpmFunction", "mpm", {in(0)}, out()).attributes["function"] = Attribute::of(name);
    }

    void linear() { emit("MpmLinear", "mpm", m_node->inputs, out()); }

    void layerNorm() {
        const int64_t axis = m_node->getInt("axis", -1);
        if (axis != -1 && axis != static_cast<int64_t>(shapeOf(in(0)).size()) - 1)
            fail("normalises over more than the last axis");
        known(1);
        Node& node = emit("MpmLayerNorm", "mpm", m_node->inputs, out());
        node.attributes["epsilon"] = Attribute::of(m_node->getFloat("epsilon", 1e-5f));
    }

    void transpose() {
        std::vector<int64_t> order = m_node->getInts("perm");
        if (order.empty() && m_node->outputs[0] < static_cast<int>(m_shapes.at.values.size())) {
            for (size_t k = shapeOf(in(0)).size(); k-- > 0;)
                order.push_back(static_cast<int64_t>(k));
        }
        emit("Transpose", "", {in(0)}, out()).attributes["perm"] = Attribute::of(order);
    }

    void emitSlice(int from, int to, int64_t axis, int64_t start, int64_t end) {
        if (m_shapes.isBatch(from, axis)) fail("cuts the batch");
        emit("Slice", "", {from, ints({start}), ints({end}), ints({axis})}, to);
    }

    std::vector<int64_t> listOf(size_t input, const char* attribute) const {
        return m_node->input(input) == kAbsent ? m_node->getInts(attribute) : known(input).toInts();
    }

    void slice() {
        const Shape& shape = shapeOf(in(0));
        const std::vector<int64_t> starts = listOf(1, "starts"), ends = listOf(2, "ends"),
                                   by = listOf(4, "steps");
        std::vector<int64_t> axes = listOf(3, "axes"), newStarts, newEnds, newAxes;
        for (size_t k = 0; axes.size() < starts.size(); ++k)
            axes.push_back(static_cast<int64_t>(k));
        for (size_t k = 0; k < starts.size(); ++k) {
            const int64_t axis = axes[k] < 0 ? axes[k] + static_cast<int64_t>(shape.size()) : axes[k];
            const int64_t extent = shape[axis];
            const auto clamp = [extent](int64_t at) {
                return std::min(std::max<int64_t>(at < 0 ? at + extent : at, 0), extent);
            };
            if (!by.empty() && by[k] != 1) fail("takes every so many elements");
            if (clamp(starts[k]) == 0 && clamp(ends[k]) == extent) continue;
            if (m_shapes.isBatch(in(0), axis)) fail("cuts the batch");
            newStarts.push_back(clamp(starts[k]));
            newEnds.push_back(clamp(ends[k]));
            newAxes.push_back(axis);
        }
        if (newAxes.empty()) return pass();
        emit("Slice", "", {in(0), ints(newStarts), ints(newEnds), ints(newAxes)}, out());
    }

    void split() {
        const int64_t given = m_node->getInt("axis", 0);
        const int64_t axis = given < 0 ? given + static_cast<int64_t>(shapeOf(in(0)).size()) : given;
        int64_t position = 0;
        for (int part : m_node->outputs) {
            const int64_t size = shapeOf(part)[axis];
            emitSlice(in(0), part, axis, position, position + size);
            position += size;
        }
    }

    // Picking one index, or a run of them, is a slice.
    void gather() {
        const Tensor& at = known(1);
        const Shape& shape = shapeOf(in(0));
        const int64_t given = m_node->getInt("axis", 0);
        const int64_t axis = given < 0 ? given + static_cast<int64_t>(shape.size()) : given;
        std::vector<int64_t> index = at.toInts();
        for (int64_t& i : index)
            i += i < 0 ? shape[axis] : 0;
        for (size_t k = 1; k < index.size(); ++k) {
            if (index[k] != index[0] + static_cast<int64_t>(k))
                fail("picks elements that do not lie side by side");
        }
        if (index.empty()) fail("picks nothing");
        const int cut = m_graph.addValue(m_graph.values[out()].name + ".cut");
        emitSlice(in(0), cut, axis, index.front(), index.back() + 1);
        // The slice keeps the axis that the gather may have dropped.
        const Shape& target = shapeOf(out());
        if (target.empty()) fail("makes a scalar, which OpenCV has not");
        std::vector<int64_t> sizes(target.begin(), target.end());
        for (size_t k = 0; k < sizes.size(); ++k) {
            if (!m_shapes.isBatch(out(), k)) continue;
            const bool copies = k < shape.size() && m_shapes.isBatch(in(0), k);
            sizes[k] = copies ? 0 : -1;
        }
        emit("Reshape", "", {cut, ints(sizes)}, out());
    }

    // Adding zeros of the wanted shape broadcasts.
    void expand() {
        Shape shape = shapeOf(out());
        for (size_t k = 0; k < shape.size(); ++k) {
            if (!m_shapes.isBatch(out(), k)) continue;
            const size_t skip = shape.size() - shapeOf(in(0)).size();
            if (k < skip || !m_shapes.isBatch(in(0), k - skip))
                fail("repeats something for every picture of a dynamic batch");
            shape[k] = 1;
        }
        const int zeros = ranked(m_graph.addConstant("zeros", Tensor::floats(shape)), shape.size());
        emit("MpmArithmetic", "mpm", {in(0), zeros}, out()).attributes["operation"] =
            Attribute::of(std::string("add"));
    }

    void softmax() {
        const int64_t rank = static_cast<int64_t>(shapeOf(in(0)).size());
        const bool flat = m_graph.opset < 13;
        int64_t axis = m_node->getInt("axis", flat ? 1 : -1);
        if (axis < 0) axis += rank;
        if (flat && axis != rank - 1) fail("runs over several axes");
        emit("Softmax", "", {in(0)}, out()).attributes["axis"] = Attribute::of(axis);
    }

    void resize() {
        const Shape& from = shapeOf(in(0));
        const Shape& to = shapeOf(out());
        const std::string mode = m_node->getString("mode", "nearest");
        const std::string coordinates = m_node->getString("coordinate_transformation_mode",
                                                          m_graph.opset < 11 ? "asymmetric" : "half_pixel");
        const bool picture = from.size() == 4 && from[1] == to[1];
        const bool halfPixel = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
        const bool smaller = picture && (to[2] < from[2] || to[3] < from[3]);
        if (m_node->getInt("antialias", 0) && smaller) fail("smooths while it makes smaller");
        if (picture && mode == "linear" && (halfPixel || coordinates == "align_corners")) {
            Node& node = emit("MpmResize", "mpm", {in(0)}, out());
            node.attributes["size"] = Attribute::of(std::vector<int64_t>{to[2], to[3]});
            if (!halfPixel) node.attributes["align_corners"] = Attribute::of(int64_t{1});
            return;
        }
        const bool whole = picture && to[2] % from[2] == 0 && to[3] % from[3] == 0;
        if (mode != "nearest" || !whole)
            fail("(" + mode + ", " + coordinates + ") is not available in OpenCV 4.6");
        const std::vector<float> scales{1, 1, static_cast<float>(to[2] / from[2]),
                                        static_cast<float>(to[3] / from[3])};
        Node& node =
            emit("Resize", "", {in(0), kAbsent, m_graph.addConstant("scales", Tensor::floats({4}, scales))},
                 out());
        node.attributes["mode"] = Attribute::of(std::string("nearest"));
        node.attributes["coordinate_transformation_mode"] = Attribute::of(std::string("asymmetric"));
        node.attributes["nearest_mode"] = Attribute::of(std::string("floor"));
    }

    void convolution() {
        const Tensor& weight = known(1);
        Node node = *m_node;
        node.attributes["kernel_shape"] =
            Attribute::of(std::vector<int64_t>(weight.shape().begin() + 2, weight.shape().end()));
        m_graph.nodes.push_back(node);
    }

    // OpenCV 4.6 stumbles over inputs that are left out.
    void pad() {
        std::vector<int> inputs{in(0), ints(listOf(1, "pads"))};
        if (m_node->input(2) != kAbsent)
            inputs.push_back(
                m_graph.addConstant("fill", Tensor::floats({1}, static_cast<float>(known(2).at(0)))));
        if (m_node->input(3) != kAbsent) fail("pads chosen axes");
        Node& node = emit("Pad", "", inputs, out());
        node.attributes["mode"] = Attribute::of(m_node->getString("mode", "constant"));
    }

    void clip() {
        int value = in(0);
        const std::pair<const char*, float> limits[] = {
            {"max", m_node->input(1) != kAbsent ? static_cast<float>(known(1).at(0))
                                                : m_node->getFloat("min", -3.4e38f)},
            {"min", m_node->input(2) != kAbsent ? static_cast<float>(known(2).at(0))
                                                : m_node->getFloat("max", 3.4e38f)}};
        for (int k = 0; k < 2; ++k) {
            const int next = k == 1 ? out() : m_graph.addValue(m_graph.values[out()].name + ".low");
            const Shape ones(shapeOf(out()).size(), 1);
            const int limit = m_graph.addConstant("limit", Tensor::floats(ones, limits[k].second));
            emit("MpmArithmetic", "mpm", {value, limit}, next).attributes["operation"] =
                Attribute::of(std::string(limits[k].first));
            value = next;
        }
    }

    void reduce() {
        const int64_t rank = static_cast<int64_t>(shapeOf(in(0)).size());
        std::vector<int64_t> axes = listOf(1, "axes");
        if (axes.empty()) fail("reduces everything to one number");
        for (int64_t& axis : axes)
            axis += axis < 0 ? rank : 0;
        // With kept axes every OpenCV agrees on what it does; the reshape after it drops them.
        const int kept = m_graph.addValue(m_graph.values[out()].name + ".kept");
        Node& node = emit(m_node->op, "", {in(0)}, kept);
        node.attributes["axes"] = Attribute::of(axes);
        node.attributes["keepdims"] = Attribute::of(int64_t{1});
        std::vector<int64_t> sizes(shapeOf(out()).begin(), shapeOf(out()).end());
        for (size_t k = 0; k < sizes.size(); ++k) {
            if (m_shapes.isBatch(out(), k)) sizes[k] = m_shapes.isBatch(in(0), k) ? 0 : -1;
        }
        emit("Reshape", "", {kept, ints(sizes)}, out());
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    Node* m_node = nullptr;
};

}  // namespace

void lower(Graph& graph, const Shapes& shapes) {
    Lowering(graph, shapes).run();
}

}  // namespace mpm::models
