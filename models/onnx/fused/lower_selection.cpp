// Lowers operators with which a detector selects by score: TopK, computed integers, conditions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "models/onnx/eval/call.hpp"
#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {
namespace {

bool selects(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
        return node.op == "MpmTopK" || node.op == "MpmGatherRows" || node.is("TopK");
    });
}

}  // namespace

Lowering::Lowering(Graph& graph, const Shapes& shapes)
    : m_graph(graph), m_shapes(shapes), m_selects(selects(graph) || graph.inputs.size() > 1) {}

List<int64_t> Lowering::openBatch(const Shape& shape, int source) const {
    List<int64_t> sizes(shape.begin(), shape.end());
    if (m_shapes.dynamic && !sizes.empty() && m_shapes.isBatch(source, 0)) sizes[0] = -1;
    return sizes;
}

int Lowering::compute(const std::string& operation, int a, int b, const char* part) {
    const int to = fresh(part);
    compute(operation, a, b, to);
    return to;
}

void Lowering::bestOf(int64_t axis, bool largest, int64_t count) {
    const List<int> outputs = m_node->outputs;
    const Shape& shape = shapeOf(in(0));
    const auto rank = static_cast<int64_t>(shape.size());
    const auto fresh = [&](const char* part) { return m_graph.addValue(m_graph.values[in(0)].name + part); };
    List<int64_t> order;  // axes, with `axis` last
    for (int64_t d = 0; d < rank; ++d)
        if (d != axis) order.push_back(d);
    order.push_back(axis);
    int scores = in(0);
    if (axis != rank - 1) {
        const int turned = fresh(".turned");
        emit("Transpose", "", {scores}, turned).set("perm", order);
        scores = turned;
    }
    if (!largest) scores = apply("neg", scores, fresh(".negated"));
    const bool rows = rank == 2;
    Shape turned, flat{1, shape[axis]};
    for (const int64_t d : order)
        turned.push_back(shape[d]);
    for (int64_t k = 0; k + 1 < rank; ++k)
        flat[0] = checkedProduct<int64_t>(flat[0], turned[k]);
    if (!rows) {
        const int matrix = fresh(".matrix");
        emit("Reshape", "", {scores, ints(openBatch(flat, in(0)))}, matrix);
        scores = matrix;
    }
    const int values = fresh(".best"), indices = fresh(".places"), numbers = fresh(".numbers");
    emit("MpmTopK", "mpm", {scores}, values).set("k", count).outputs.push_back(indices);
    // Casts to f32, because indices are integers in OpenCV 5.
    emit("Cast", "", {indices}, numbers).set("to", 1);
    const int positive = largest ? values : apply("neg", values, fresh(".values"));
    turned.back() = count;
    List<int64_t> back(order.size());
    for (size_t k = 0; k < order.size(); ++k)
        back[order[k]] = static_cast<int64_t>(k);
    for (size_t k = 0; k < outputs.size() && k < 2; ++k) {
        if (outputs[k] == kAbsent) continue;
        const int found = k == 0 ? positive : numbers;
        const int shaped = axis == rank - 1 ? outputs[k] : fresh(".shaped");
        emit("Reshape", "", {found, ints(openBatch(turned, in(0)))}, shaped);
        if (axis != rank - 1) emit("Transpose", "", {shaped}, outputs[k]).set("perm", back);
    }
}

// A cast to integers drops the fraction, and a cast to Bool gives 0 or 1. Other casts keep the values.
void Lowering::convert() {
    const Tensor &from = m_shapes.at.values[in(0)], &to = m_shapes.at.values[out()];
    const bool whole = to.type() == Type::Int && from.isFloat(),
               condition = to.type() == Type::Bool && from.type() != Type::Bool;
    if (!m_selects || (!whole && !condition)) return pass();
    if (whole) {
        apply("trunc", in(0), out());
        return;
    }
    // -max(floor(-|x|), -1) is 0 if x is 0, else 1.
    const int negative = apply("neg", apply("abs", in(0), fresh(".size")), fresh(".negative"));
    const int below = apply("floor", negative, fresh(".below"));
    apply("neg", compute("max", below, numbered(-1), ".held"), out());
}

void Lowering::integerArithmetic() {
    int a = oneImage(in(0)), b = oneImage(in(1));
    const auto asFloats = [&](int value) {
        if (!m_graph.isConstant(value)) return value;
        const Tensor& t = m_graph.constant(value);
        return m_graph.addConstant(m_graph.values[value].name, Tensor::floats(t.shape(), t.toFloats()));
    };
    a = asFloats(a);
    b = asFloats(b);
    const bool reversed = m_graph.isConstant(a);
    if (m_node->is("Div") || m_node->is("Mod")) {
        if (reversed) fail("divides a constant by computed whole numbers");
        b = m_graph.isConstant(b) ? ranked(b, shapeOf(out()).size()) : b;
        return integerQuotient(a, b);
    }
    if (reversed) std::swap(a, b);
    if (m_graph.isConstant(b)) b = ranked(b, shapeOf(out()).size());
    emitArithmetic(a, b, reversed);
}

void Lowering::integerQuotient(int a, int b) {
    const bool remainder = m_node->is("Mod");
    const int quotient = compute("div", a, b, ".quotient");
    if (!remainder) {
        apply("trunc", quotient, out());
        return;
    }
    const bool truncates = m_node->getInt("fmod", 0) != 0;
    const int whole = apply(truncates ? "trunc" : "floor", quotient, fresh(".whole"));
    compute("sub", a, compute("mul", whole, b, ".product"), out());
}

// Writes a sum or mean along the last axis as a matrix product, because a reduction of OpenCV 4.6 fixes the
// size of the first axis (batch and heads) during the import.
bool Lowering::sumsRows() {
    const bool mean = m_node->is("ReduceMean");
    const int64_t width = shapeOf(in(0)).back();
    if ((!mean && !m_node->is("ReduceSum")) || width < 1) return false;
    const Tensor ones = Tensor::floats({width, 1}, mean ? 1 / static_cast<float>(width) : 1);
    const int sums = fresh(".sums");
    emit("MpmMatMul", "mpm", {in(0), m_graph.addConstant("ones", ones)}, sums);
    reshapeLike(sums, in(0));
    return true;
}

// If all repeated axes have size 1, repeats with a broadcast; else with a Concat for each repeated axis.
void Lowering::tile() {
    const Shape &from = shapeOf(in(0)), &to = shapeOf(out());
    int value = in(0);
    bool broadcasts = from.size() == to.size();
    for (size_t k = 0; broadcasts && k < from.size(); ++k)
        broadcasts = from[k] == to[k] || from[k] == 1;
    if (broadcasts) return expand();
    for (size_t k = 0; k < from.size(); ++k) {
        if (from[k] == to[k]) continue;
        if (from[k] < 1 || m_shapes.isBatch(in(0), k)) fail("repeats the batch");
        constexpr int64_t kMostCopies = 1 << 16;
        if (to[k] / from[k] > kMostCopies) fail("repeats a value too often");
        const int next = fresh(".tiled");
        const List<int> copies(static_cast<size_t>(to[k] / from[k]), value);
        emit("Concat", "", copies, next).set("axis", k);
        value = next;
    }
    emit("Reshape", "", {value, ints(List<int64_t>(to.size(), 0))}, out());
}

// Throws Refusal if the graph neither selects by score nor has several inputs.
void Lowering::needSelection() const {
    if (!m_selects) fail("is not available in OpenCV 4.6 and has no equivalent");
}

int Lowering::numbered(float value) {
    return m_graph.addConstant("number",
                               Tensor::floats(Shape(std::max<size_t>(shapeOf(out()).size(), 2), 1), value));
}

// Returns a constant as f32 with the rank of the result. Returns any other value unchanged.
int Lowering::asNumbers(int value) {
    const int one = oneImage(value);
    if (!m_graph.isConstant(one)) return value;
    const Tensor& t = m_graph.constant(one);
    return ranked(m_graph.addConstant("numbers", Tensor::floats(t.shape(), t.toFloats())),
                  shapeOf(out()).size());
}

// Computes a >= b as floor(a - b) + 1, clamped to the range 0 to 1. Other comparisons swap a and b, negate
// the result, or both.
void Lowering::compareNumbers() {
    needSelection();
    const bool turned = m_node->is("LessOrEqual") || m_node->is("Greater");
    const bool inverse = m_node->is("Less") || m_node->is("Greater");
    const int a = asNumbers(in(turned ? 1 : 0)), b = asNumbers(in(turned ? 0 : 1));
    const bool reversed = m_graph.isConstant(a);
    const int difference = fresh(".difference");
    Node& node = compute("sub", reversed ? b : a, reversed ? a : b, difference);
    if (reversed) node.set("reversed", 1);
    const int whole = apply("floor", difference, fresh(".whole"));
    const int next = compute("add", whole, numbered(1), ".next"),
              low = compute("max", next, numbered(0), ".low");
    const int held = inverse ? fresh(".held") : out();
    compute("min", low, numbered(1), held);
    if (inverse) compute("sub", held, numbered(1), out()).set("reversed", 1);
}

void Lowering::combineConditions() {
    needSelection();
    const bool isNot = m_node->is("Not");
    int a = asNumbers(in(0)), b = isNot ? numbered(1) : asNumbers(in(1));
    if (m_graph.isConstant(a)) std::swap(a, b);
    Node& node = compute(isNot ? "sub" : m_node->is("And") ? "mul" : "max", a, b, out());
    if (isNot) node.set("reversed", 1);
}

// Computes max(min(x, b), min(y, -b)). The bound b is infinity if the condition is true, else minus infinity.
// This formula keeps all bits of the chosen x or y, even if x or y is infinite.
void Lowering::choose() {
    needSelection();
    const int side = compute("sub", in(0), numbered(0.5f), ".side"),
              bound = compute("mul", side, numbered(std::numeric_limits<float>::infinity()), ".bound"),
              other = apply("neg", bound, fresh(".other"));
    const int first = compute("min", bound, asNumbers(in(1)), ".first"),
              second = compute("min", other, asNumbers(in(2)), ".second");
    compute("max", first, second, out());
}

// Selects x if `condition` is 1, y if it is 0. If x or y is a constant, its elements become 0 in the places
// where the condition chooses the other operand.
void Lowering::where() {
    const int condition = oneImage(in(0));
    if (!m_graph.isConstant(condition)) return choose();
    const auto weights = [&](bool first) {
        const Tensor& c = m_graph.constant(condition);
        List<float> w(static_cast<size_t>(c.size()));
        for (int64_t k = 0; k < c.size(); ++k)
            w[k] = (c.at(k) != 0) == first ? 1.f : 0.f;
        return ranked(m_graph.addConstant("chosen", Tensor::floats(c.shape(), w)), shapeOf(out()).size());
    };
    int parts[2];
    Shape computed = m_graph.constant(condition).shape();  // common shape of the condition and computed parts
    for (int k = 0; k < 2; ++k) {
        const int branch = asNumbers(in(1 + k));
        if (m_graph.isConstant(branch)) {
            const Node pick{"Where", "", "", {}, {}, {}};
            const Tensor zero = Tensor::floats({}, 0.f), c = m_graph.constant(condition),
                         values = m_graph.constant(branch);
            const List<Tensor> operands =
                k == 0 ? List<Tensor>{c, values, zero} : List<Tensor>{c, zero, values};
            parts[k] = m_graph.addConstant("constant", evaluateNode(m_graph, pick, operands).at(0));
        } else {
            computed = broadcast(computed, shapeOf(in(1 + k)));
            parts[k] = compute("mul", branch, weights(k == 0), k == 0 ? ".first" : ".second");
        }
    }
    if (m_graph.isConstant(parts[0])) std::swap(parts[0], parts[1]);
    if (m_graph.isConstant(parts[1])) {
        const List<float> values = m_graph.constant(parts[1]).toFloats();
        if (std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }) &&
            elementCount(computed) == elementCount(shapeOf(out())) && shapeOf(out()).size() > 0) {
            // The constant adds nothing, so a single 0 is enough.
            parts[1] = m_graph.addConstant("nothing", Tensor::floats(Shape(1, 1)));
        }
        parts[1] = ranked(parts[1], shapeOf(out()).size());
    }
    compute("add", parts[0], parts[1], out());
}

// Omits parts without elements, because OpenCV cannot join them.
void Lowering::concat() {
    const auto isEmpty = [&](int value) {
        return value < static_cast<int>(m_shapes.at.values.size()) && m_shapes.at.values[value].size() == 0;
    };
    List<int> parts = m_node->inputs;
    parts.erase(std::remove_if(parts.begin(), parts.end(), isEmpty), parts.end());
    if (parts.size() == m_node->inputs.size() || parts.empty()) return keep();
    if (parts.size() == 1) return emitReshape(parts[0], out(), shapeOf(parts[0]));
    m_node->inputs = parts;
    keep();
}

void Lowering::takeSizesAsFloats() {
    for (Port& port : m_graph.inputs) {
        if (port.type != Type::Int) continue;
        const int given = m_graph.addValue(m_graph.values[port.value].name);
        m_graph.add("Cast", {given}, port.value, "mpm.internal").set("to", 1);  // lower() keeps the node
        port.value = given;
    }
}

void Lowering::giveIntegers() {
    for (Port& port : m_graph.outputs) {
        if (port.type != Type::Int || m_graph.isConstant(port.value)) continue;
        const int given = m_graph.addValue(m_graph.values[port.value].name + ".integers");
        m_graph.add("Cast", {port.value}, given).set("to", 7);
        port.value = given;
    }
}

}  // namespace mpm::models
