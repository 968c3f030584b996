// Lowers operators that pick elements by index: Gather, GatherND, TopK.
#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {

// Writes a slice for each run of adjacent indices, and joins several slices with a Concat.
void Lowering::emitPicked(int from, int to, int64_t axis, const List<int64_t>& index) {
    constexpr size_t kMostParts = 64;  // enough to reorder channels; a table of indices needs more
    List<int> parts;
    for (size_t first = 0, end = 0; first < index.size(); first = end) {
        for (end = first + 1; end < index.size() && index[end] == index[end - 1] + 1;)
            ++end;
        if (parts.size() == kMostParts) fail("picks elements that are not adjacent");
        const bool all = first == 0 && end == index.size();
        parts.push_back(all ? to : m_graph.addValue(m_graph.values[to].name + std::to_string(first)));
        emit("Slice", "", {from, ints({index[first]}), ints({index[end - 1] + 1}), ints({axis})},
             parts.back());
    }
    if (parts.size() > 1) emit("Concat", "", parts, to).set("axis", axis);
}

void Lowering::gather() {
    const Shape& shape = shapeOf(in(0));
    const int64_t axis = m_node->axis(0, shape.size());
    if (isTable(shapeOf(in(1)))) return lookUp();
    List<int64_t> index = known(1).toInts();
    for (int64_t& i : index)
        i += i < 0 ? shape[axis] : 0;
    pick(axis, 1, index);
}

// Each picked place has an index for each of several consecutive axes. pick() joins these axes.
void Lowering::gatherND() {
    const int64_t axis = m_node->getInt("batch_dims", 0);
    Shape rows = shapeOf(in(1));
    const int64_t depth = rows.back();
    rows.pop_back();
    if (depth == 1 && isTable(rows)) return lookUp();
    const int at = oneImage(in(1));
    if (!m_graph.isConstant(at)) fail("has indices that are not constant");
    const Shape &shape = shapeOf(in(0)), &given = m_graph.constant(at).shape();
    const List<int64_t> index = m_graph.constant(at).toInts();
    int64_t batches = 1;
    for (int64_t k = 0; k < axis; ++k)
        batches = checkedProduct<int64_t>(batches, given[k]);
    const int64_t each = batches > 0 ? static_cast<int64_t>(index.size()) / batches : 0;
    List<int64_t> places;
    for (int64_t k = 0; depth > 0 && k < each; k += depth) {
        int64_t place = 0;
        for (int64_t d = 0; d < depth; ++d) {
            const int64_t extent = shape[axis + d], i = index[k + d];
            for (int64_t b = 1; b < batches; ++b)
                if (index[b * each + k + d] != i) fail("picks other elements for each image");
            place = checkedSum<int64_t>(checkedProduct<int64_t>(place, extent), i < 0 ? i + extent : i);
        }
        places.push_back(place);
    }
    pick(axis, depth, places);
}

// Joins `depth` axes, beginning with `axis`, and picks places along the joined axis.
void Lowering::pick(int64_t axis, int64_t depth, const List<int64_t>& places) {
    const Shape& shape = shapeOf(in(0));
    if (places.empty()) fail("picks nothing");
    for (int64_t d = 0; d < depth; ++d)
        if (m_shapes.isBatch(in(0), axis + d)) fail("slices the batch");
    int from = in(0);
    if (depth > 1) {
        List<int64_t> target;
        for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k) {
            if (k > axis && k < axis + depth) {
                target.back() = checkedProduct<int64_t>(target.back(), shape[k]);
            } else {
                target.push_back(!m_shapes.isBatch(in(0), k) ? shape[k] : k < axis ? 0 : -1);
            }
        }
        from = fresh(".joined");
        emit("Reshape", "", {in(0), ints(target)}, from);
    }
    const int cut = fresh(".cut");
    emitPicked(from, cut, axis, places);
    // The slice keeps the axis, but the gather may remove it.
    reshapeLike(cut, in(0));
}

// Returns whether computed indices pick from a constant list of numbers, for example from class ids.
bool Lowering::isTable(const Shape& picked) const {
    const Shape& table = shapeOf(in(0));
    return m_graph.isConstant(in(0)) && !m_graph.isConstant(in(1)) && table.size() == 1 && table[0] > 0 &&
           picked == shapeOf(out()) && m_node->getInt("batch_dims", 0) == 0;
}

// Writes an MpmGridSample: the table is an image with a single row, and the indices are its sampled pixels.
void Lowering::lookUp() {
    const Tensor table = m_graph.constant(in(0));
    const float last = static_cast<float>(table.size() - 1);
    const auto computed = [&](int a, const char* operation, const Tensor& b, const char* part) {
        return compute(operation, a, m_graph.addConstant("number", b), part);
    };
    const auto number = [](float value) { return Tensor::floats({1, 1, 1, 1}, value); };
    const int numbers = fresh(".numbers"), index = fresh(".index"), first = fresh(".first"),
              places = fresh(".places"), picked = fresh(".picked"), shaped = fresh(".shaped");
    emit("Cast", "", {in(1)}, numbers).set("to", 1);
    emit("Reshape", "", {numbers, ints({1, 1, -1, 1})}, index);
    emit("Slice", "", {index, ints({0}), ints({1}), ints({2})}, first);
    // Adds the table to a computed 0, because OpenCV does not accept a constant as the image.
    const int row = computed(computed(first, "mul", number(0), ".zero"), "add",
                             Tensor::floats({1, 1, 1, table.size()}, table.toFloats()), ".row");
    const int x =
        computed(computed(index, "mul", number(last > 0 ? 2 / last : 0), ".scaled"), "sub", number(1), ".x");
    const int y = computed(index, "mul", number(0), ".y");
    emit("Concat", "", {x, y}, places).set("axis", 3);
    emit("MpmGridSample", "mpm", {row, places}, picked)
        .set("mode", "nearest")
        .set("padding_mode", "border")
        .set("align_corners", 1);
    List<int64_t> sizes(shapeOf(out()).begin(), shapeOf(out()).end());
    for (size_t k = 0; k < sizes.size(); ++k)
        if (m_shapes.isBatch(out(), k)) sizes[k] = -1;
    if (sizes.empty()) fail("computes a scalar, which OpenCV does not have");
    const bool isFloat = table.isFloat();
    emit("Reshape", "", {picked, ints(sizes)}, isFloat ? out() : shaped);
    if (!isFloat) emit("Cast", "", {shaped}, out()).set("to", 7);
}

// If k is 1, finds the largest (or smallest) value and its index; else the k largest (or smallest) in order.
void Lowering::topK() {
    const int64_t axis = m_node->axis(-1, shapeOf(in(0)).size());
    const bool largest = m_node->getInt("largest", 1) != 0;
    const List<int> outputs = m_node->outputs;
    const bool isOld = m_node->inputs.size() < 2;  // k was an attribute before opset 10
    const List<int64_t> k = isOld ? List<int64_t>{m_node->getInt("k", 0)} : known(1).toInts();
    if (k != List<int64_t>{1}) return bestOf(axis, largest, k.at(0));
    const auto isUsed = [&](size_t n) { return n < outputs.size() && outputs[n] != kAbsent; };
    if (isUsed(1))
        emit(largest ? "ArgMax" : "ArgMin", "", {in(0)}, outputs[1]).set("axis", axis).set("keepdims", 1);
    if (!isUsed(0)) return;
    Node value{largest ? "ReduceMax" : "ReduceMin", "", m_node->name, {in(0)}, {outputs[0]}, {}};
    m_node = &value.set("axes", {axis});
    reduce();
}

}  // namespace mpm::models
