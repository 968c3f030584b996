#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/norm.hpp"
#include "models/onnx/ir/rewrite.hpp"

#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {
namespace {

std::string lowerCase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

}  // namespace

void Lowering::rewrite(Method write) {
    List<Node> old;
    old.swap(m_graph.nodes);
    for (Node& node : old) {
        m_node = &node;
        checkTime();
        (this->*write)();
    }
}

void Lowering::run() {
    if (m_selects) takeSizesAsFloats();
    rewrite(&Lowering::lowerNode);
    if (m_selects) giveIntegers();
    // Writes an MpmTranspose or MpmMaskedSoftmax only if the model needs the operator's domain version
    // anyway.
    if (domainVersion(m_graph) > 1) rewrite(&Lowering::ownTranspose);
    if (domainVersion(m_graph) > 2) rewrite(&Lowering::ownSoftmax);
    if (domainVersion(m_graph) > 2 && !m_selects) followEncoder();
    for (Node& node : m_graph.nodes) {
        if (node.domain == "mpm.internal") node.domain.clear();
    }
    m_graph.arrange();
    checkComplete();
}

void Lowering::followEncoder() {
    constexpr int64_t kFewestPlaces = 256;  // fewer rows per image may be queries, which stay in f32
    const Shape& images = shapeOf(m_graph.inputs[0].value);
    for (Node& node : m_graph.nodes) {
        const bool known = static_cast<size_t>(node.outputs[0]) < m_shapes.at.values.size();
        if (node.domain != "mpm" || node.op != "MpmLinear" || !known) continue;
        const Shape& rows = shapeOf(node.outputs[0]);
        const int64_t width = rows.back();
        const bool many = width > 0 && elementCount(rows) / width / kFewestPlaces >= images[0];
        if (many) node.set("precision", "encoder");
    }
}

const std::map<std::string, Lowering::Method>& Lowering::methods() {
    static const std::map<std::string, Method> all = [] {
        std::map<std::string, Method> m;
        for (const char* op : {"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
            m[op] = &Lowering::reshape;
        for (const char* op : {"Identity", "Dropout"})
            m[op] = &Lowering::pass;
        for (const char* op : {"Cast", "CastLike"})
            m[op] = &Lowering::convert;
        for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"})
            m[op] = &Lowering::arithmetic;
        for (const char* op :
             {"Abs", "Cos", "Erf", "Exp", "Gelu", "Log", "Neg", "Reciprocal", "Sin", "Softplus", "Sqrt"}) {
            m[op] = &Lowering::function;
        }
        m["Linear"] = &Lowering::linear;
        m["MatMul"] = &Lowering::matMul;
        for (const NormNames& norm : normNames())
            m[norm.onnx] = &Lowering::layerNorm;
        m["Transpose"] = &Lowering::transpose;
        m["Slice"] = &Lowering::slice;
        m["Split"] = &Lowering::split;
        m["Gather"] = &Lowering::gather;
        m["GatherND"] = &Lowering::gatherND;
        m["TopK"] = &Lowering::topK;
        m["Expand"] = &Lowering::expand;
        m["Softmax"] = &Lowering::softmax;
        m["Resize"] = &Lowering::resize;
        m["Upsample"] = &Lowering::resize;
        m["GridSample"] = &Lowering::gridSample;
        m["Conv"] = &Lowering::convolution;
        m["ConvTranspose"] = &Lowering::convTranspose;
        for (const char* op : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
            m[op] = &Lowering::compareNumbers;
        for (const char* op : {"And", "Or", "Not"})
            m[op] = &Lowering::combineConditions;
        m["Floor"] = &Lowering::function;
        m["Tile"] = &Lowering::tile;
        m["Where"] = &Lowering::where;
        m["Concat"] = &Lowering::concat;
        m["Mod"] = &Lowering::arithmetic;
        m["Clip"] = &Lowering::clip;
        m["Pad"] = &Lowering::pad;
        for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2"})
            m[op] = &Lowering::reduce;
        for (const char* op :
             {"AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "Relu",
              "LeakyRelu", "Elu", "Sigmoid", "Tanh", "HardSwish", "ArgMax", "ArgMin", "InstanceNormalization",
              "DepthToSpace", "PRelu"}) {
            m[op] = &Lowering::keep;
        }
        return m;
    }();
    return all;
}

void Lowering::lowerNode() {
    if (followsFromShapes()) return;
    const bool final = m_node->domain == "mpm.internal" && m_node->op != "Linear" && m_node->op != "Select";
    if (m_node->domain == "mpm" || final) return keep();
    const auto method = methods().find(m_node->op);
    const bool standard = m_node->domain.empty() || m_node->op == "Linear";
    if (!standard || method == methods().end())
        fail("is not available in OpenCV 4.6 and has no equivalent" + adviceFor(*m_node));
    (this->*method->second)();
}

bool Lowering::followsFromShapes() const {
    if (m_node->domain == "mpm") return false;
    for (int value : m_node->outputs) {
        const bool original = value != kAbsent && value < static_cast<int>(m_shapes.at.values.size());
        if (!original || !m_shapes.at.values[value].known()) return false;
    }
    return true;
}

void Lowering::checkComplete() const {
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

void Lowering::fail(const std::string& reason) const {
    throw Refusal("operator " + m_graph.describe(*m_node) + " outside of the encoder " + reason);
}

const Tensor& Lowering::known(size_t k) const {
    const int value = m_node->input(k);
    if (value == kAbsent || !m_graph.isConstant(value)) fail("has an input that is not a constant");
    return m_graph.constant(value);
}

Node& Lowering::emit(const std::string& op, const std::string& domain, const List<int>& inputs, int output) {
    return m_graph.add(op, inputs, output, domain, m_node->name);
}

Node& Lowering::compute(const std::string& operation, int a, int b, int output) {
    return emit("MpmArithmetic", "mpm", {a, b}, output).set("operation", operation);
}

int Lowering::apply(const std::string& function, int a, int output) {
    emit("MpmFunction", "mpm", {a}, output).set("function", function);
    return output;
}

int Lowering::fresh(const char* part) {
    return m_graph.addValue(m_graph.values[out()].name + part);
}

int Lowering::ints(const List<int64_t>& values) {
    return m_graph.addConstant("ints", Tensor::vector(values));
}

int Lowering::oneImage(int value) {
    if (m_graph.isConstant(value) || value >= static_cast<int>(m_shapes.at.values.size())) return value;
    const Tensor& t = m_shapes.at.values[value];
    if (!t.known() || !t.isFloat() || !m_shapes.dynamic) return value;
    Shape shape = t.shape();
    size_t axis = 0;
    while (axis < shape.size() && !m_shapes.isBatch(value, axis))
        ++axis;
    if (axis == shape.size()) return value;
    const int64_t period = m_shapes.other.values[value].shape()[axis] - shape[axis];  // length for each image
    int64_t inner = period;
    for (size_t k = axis + 1; k < shape.size(); ++k)
        inner = checkedProduct<int64_t>(inner, shape[k]);
    if (period < 1 || shape[axis] % period) return value;
    const int64_t whole = checkedProduct<int64_t>(inner / period, shape[axis]);
    List<float> one;
    for (int64_t k = 0; k < t.size(); ++k) {
        const int64_t first = k / whole * whole + k % whole % inner;
        if (t.f()[k] != t.f()[first]) return value;
        if (k == first) one.push_back(t.f()[k]);
    }
    shape[axis] = period;
    return m_graph.addConstant(m_graph.values[value].name + ".one", Tensor::floats(shape, one));
}

void Lowering::matMul() {
    int a = oneImage(in(0)), b = oneImage(in(1));
    const bool reversed = m_graph.isConstant(a);
    if (reversed) std::swap(a, b);
    const bool vector = m_graph.isConstant(b) && m_graph.constant(b).rank() == 1;
    // oneImage() may return a new constant, which m_shapes lacks.
    const auto rankOf = [&](int value) {
        return m_graph.isConstant(value) ? static_cast<size_t>(m_graph.constant(value).rank())
                                         : shapeOf(value).size();
    };
    if (rankOf(a) < 2 || (!vector && rankOf(b) < 2)) fail("multiplies a vector");
    int product = out();
    if (vector) {
        const Tensor& v = m_graph.constant(b);
        b = m_graph.addConstant(m_graph.values[b].name + ".matrix",
                                v.reshaped(reversed ? Shape{1, v.size()} : Shape{v.size(), 1}));
        product = fresh(".matrix");
    }
    Node& node = emit("MpmMatMul", "mpm", {a, b}, product);
    if (reversed) node.set("reversed", 1);
    if (vector) reshapeLike(product, a);
}

void Lowering::arithmetic() {
    if (m_node->inputs.size() != 2) fail("has more than two operands");
    if (m_selects && m_shapes.at.values[out()].type() == Type::Int) return integerArithmetic();
    if (m_node->is("Mod")) fail("computes a remainder of numbers that are not whole");
    int a = oneImage(in(0)), b = oneImage(in(1));
    const bool reversed = m_graph.isConstant(a);
    if (reversed) std::swap(a, b);
    const bool commutes = m_node->op == "Add" || m_node->op == "Mul";
    if (commutes && !m_graph.isConstant(b) && shapeOf(a) == shapeOf(b)) return keep();
    if (m_graph.isConstant(b)) b = ranked(b, shapeOf(out()).size());
    emitArithmetic(a, b, reversed);
}

void Lowering::emitArithmetic(int a, int b, bool reversed) {
    const std::string operation = lowerCase(m_node->op);
    Node& node = compute(operation, a, b, out());
    if (reversed && operation != "add" && operation != "mul") node.set("reversed", 1);
}

int Lowering::ranked(int constant, size_t rank) {
    const Tensor& t = m_graph.constant(constant);
    Shape shape = t.shape();
    if (shape.size() >= std::max<size_t>(rank, 2)) return constant;
    shape.insert(shape.begin(), std::max<size_t>(rank, 2) - shape.size(), 1);
    return m_graph.addConstant(m_graph.values[constant].name + ".ranked", t.reshaped(shape));
}

void Lowering::function() {
    if (m_node->is("Floor")) needSelection();
    const bool byTanh = m_node->is("Gelu") && m_node->getString("approximate", "none") == "tanh";
    apply(byTanh ? "gelu_tanh" : lowerCase(m_node->op), in(0), out());
}

void Lowering::layerNorm() {
    const int64_t axis = m_node->getInt("axis", -1);
    if (axis != -1 && axis != static_cast<int64_t>(shapeOf(in(0)).size()) - 1)
        fail("normalises over more than the last axis");
    known(1);
    Node& node = emit("MpmLayerNorm", "mpm", m_node->inputs, out());
    writeRule(node, "", *ruleOf(*m_node), {});
}

List<int64_t> Lowering::listOf(size_t input, const char* attribute) const {
    return m_node->input(input) == kAbsent ? m_node->getInts(attribute) : known(input).toInts();
}

void Lowering::softmax() {
    const size_t rank = shapeOf(in(0)).size();
    const bool flat = m_graph.opset < 13;
    const int64_t axis = m_node->axis(flat ? 1 : -1, rank);
    if (flat && axis != static_cast<int64_t>(rank) - 1) fail("runs over several axes");
    emit("Softmax", "", {in(0)}, out()).set("axis", axis);
}

// Replaces a large Softmax, for example over a detector's queries, because OpenCV computes it on a single
// thread.
void Lowering::ownSoftmax() {
    constexpr int64_t kSmall = 1 << 14;  // with fewer elements, OpenCV's Softmax takes microseconds
    const bool known =
        m_node->is("Softmax") && std::max(in(0), out()) < static_cast<int>(m_shapes.at.values.size());
    if (known && m_shapes.at.values[in(0)].isFloat() && elementCount(shapeOf(in(0))) >= kSmall &&
        m_node->getInt("axis", -1) == static_cast<int64_t>(shapeOf(in(0)).size()) - 1) {
        m_node->op = "MpmMaskedSoftmax";
        m_node->domain = "mpm";
        m_node->attributes.clear();
    }
    keep();
}

void Lowering::resize() {
    const Shape& from = shapeOf(in(0));
    const Shape& to = shapeOf(out());
    const std::string mode = m_node->getString("mode", "nearest");
    const std::string coordinates =
        m_node->getString("coordinate_transformation_mode", m_graph.opset < 11 ? "asymmetric" : "half_pixel");
    const bool image = from.size() == 4 && from[1] == to[1];
    const bool halfPixel = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
    const bool smaller = image && (to[2] < from[2] || to[3] < from[3]);
    if (m_node->getInt("antialias", 0) && smaller) fail("reduces its input with antialiasing");
    if (image && mode == "linear" && (halfPixel || coordinates == "align_corners")) {
        Node& node = emit("MpmResize", "mpm", {in(0)}, out()).set("size", {to[2], to[3]});
        if (!halfPixel) node.set("align_corners", 1);
        return;
    }
    const bool whole = image && from[2] > 0 && from[3] > 0 && to[2] % from[2] == 0 && to[3] % from[3] == 0;
    if (mode != "nearest" || !whole)
        fail("(" + mode + ", " + coordinates + ") is not available in OpenCV 4.6");
    const List<float> scales{1, 1, static_cast<float>(to[2] / from[2]), static_cast<float>(to[3] / from[3])};
    emit("Resize", "", {in(0), kAbsent, m_graph.addConstant("scales", Tensor::floats({4}, scales))}, out())
        .set("mode", "nearest")
        .set("coordinate_transformation_mode", "asymmetric")
        .set("nearest_mode", "floor");
}

void Lowering::gridSample() {
    Node& node = emit("MpmGridSample", "mpm", {in(0), in(1)}, out());
    for (const char* name : {"mode", "padding_mode"})
        if (m_node->has(name)) node.set(name, m_node->getString(name, ""));
    if (m_node->getInt("align_corners", 0)) node.set("align_corners", 1);
}

void Lowering::clip() {
    const auto limit = [&](size_t k, const char* name, float usual) {
        const float given =
            m_node->input(k) == kAbsent ? m_node->getFloat(name, usual) : static_cast<float>(known(k).at(0));
        return m_graph.addConstant("limit", Tensor::floats(Shape(shapeOf(out()).size(), 1), given));
    };
    const int least = limit(1, "min", -3.4e38f), most = limit(2, "max", 3.4e38f), low = fresh(".low");
    compute("max", in(0), least, low);
    compute("min", low, most, out());
}

void Lowering::reduce() {
    const int64_t rank = static_cast<int64_t>(shapeOf(in(0)).size());
    List<int64_t> axes = listOf(1, "axes");
    if (axes.empty()) fail("reduces everything to one number");
    for (int64_t& axis : axes) {
        axis += axis < 0 ? rank : 0;
        if (m_shapes.isBatch(in(0), axis))
            fail("combines the images of a dynamic batch, which OpenCV cannot: convert with --batch B");
    }
    if (m_selects && m_shapes.dynamic && rank > 2 && axes == List<int64_t>{rank - 1} && sumsRows()) return;
    int value = in(0);
    if (rank == 2 && axes == List<int64_t>{1}) {
        // OpenCV 4.6 fixes the batch size of a matrix during the import, so the matrix gets a third axis.
        value = fresh(".rows");
        emit("Reshape", "", {in(0), ints({0, 1, -1})}, value);
        axes = {2};
    }
    // With keepdims, all versions of OpenCV give the same shape. The Reshape then removes the reduced axes.
    const int kept = fresh(".kept");
    emit(m_node->op, "", {value}, kept).set("axes", axes).set("keepdims", 1);
    reshapeLike(kept, in(0));
}

void Lowering::reshapeLike(int value, int source) {
    if (shapeOf(out()).empty()) fail("computes a scalar, which OpenCV does not have");
    List<int64_t> sizes(shapeOf(out()).begin(), shapeOf(out()).end());
    for (size_t k = 0; k < sizes.size(); ++k) {
        if (!m_shapes.isBatch(out(), k)) continue;
        sizes[k] = k < shapeOf(source).size() && m_shapes.isBatch(source, k) ? 0 : -1;
    }
    emit("Reshape", "", {value, ints(sizes)}, out());
}

void lower(State& state) {
    Lowering(state.graph, state.shapes).run();
}

}  // namespace mpm::models
