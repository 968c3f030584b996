// Lowers operators that only move values: reshape, slice, expand, pad.
#include <algorithm>
#include <numeric>

#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {

void Lowering::emitReshape(int from, int to, const Shape& source) {
    const Shape& shape = shapeOf(to);
    if (shape.empty()) fail("computes a scalar, which OpenCV does not have");
    List<int64_t> target(shape.begin(), shape.end());
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

bool Lowering::keepsElements(const List<int64_t>& order) const {
    const Shape& shape = shapeOf(in(0));
    int64_t last = -1;
    for (const int64_t axis : order) {
        if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) return false;
        if (shape[axis] == 1 && !m_shapes.isBatch(in(0), axis)) continue;
        if (axis < last) return false;
        last = axis;
    }
    return true;
}

void Lowering::transpose() {
    List<int64_t> order = m_node->getInts("perm");
    if (order.empty() && m_node->outputs[0] < static_cast<int>(m_shapes.at.values.size())) {
        for (size_t k = shapeOf(in(0)).size(); k-- > 0;)
            order.push_back(static_cast<int64_t>(k));
    }
    emit("Transpose", "", {in(0)}, out()).set("perm", order);
}

void Lowering::ownTranspose() {
    constexpr int64_t kSmall = 1 << 14;  // OpenCV's Transpose moves fewer elements in microseconds
    const bool known =
        m_node->is("Transpose") && std::max(in(0), out()) < static_cast<int>(m_shapes.at.values.size());
    if (!known) return keep();
    if (keepsElements(m_node->getInts("perm"))) return pass();
    if (m_shapes.at.values[in(0)].isFloat() && elementCount(shapeOf(in(0))) >= kSmall) {
        m_node->op = "MpmTranspose";
        m_node->domain = "mpm";
    }
    keep();
}

void Lowering::emitSlice(int from, int to, int64_t axis, int64_t start, int64_t end) {
    if (m_shapes.isBatch(from, axis)) fail("slices the batch");
    emit("Slice", "", {from, ints({start}), ints({end}), ints({axis})}, to);
}

void Lowering::slice() {
    const Shape& shape = shapeOf(in(0));
    const List<int64_t> starts = listOf(1, "starts"), ends = listOf(2, "ends"), by = listOf(4, "steps");
    List<int64_t> axes = listOf(3, "axes"), newStarts, newEnds, newAxes;
    if (axes.empty()) axes = counted(starts.size());
    for (size_t k = 0; k < starts.size(); ++k) {
        const int64_t axis = axes[k] < 0 ? axes[k] + static_cast<int64_t>(shape.size()) : axes[k];
        const int64_t extent = shape[axis];
        const auto clamp = [extent](int64_t at) {
            return std::min(std::max<int64_t>(at < 0 ? at + extent : at, 0), extent);
        };
        if (!by.empty() && by[k] == -1 && axes.size() == 1) {
            constexpr int64_t kMostBackwards = 1 << 16;
            if (extent > kMostBackwards) fail("reverses too many values");
            List<int64_t> backwards(std::max<int64_t>(shapeOf(out())[axis], 0));
            const int64_t first = std::min(starts[k] < 0 ? starts[k] + extent : starts[k], extent - 1);
            std::iota(backwards.rbegin(), backwards.rend(),
                      first - static_cast<int64_t>(backwards.size()) + 1);
            if (m_shapes.isBatch(in(0), axis)) fail("slices the batch");
            return emitPicked(in(0), out(), axis, backwards);
        }
        if (!by.empty() && by[k] > 1 && axes.size() == 1) return everyFew(axis, clamp(starts[k]), by[k]);
        if (!by.empty() && by[k] != 1) fail("has a step other than 1");
        if (clamp(starts[k]) == 0 && clamp(ends[k]) == extent) continue;
        if (m_shapes.isBatch(in(0), axis)) fail("slices the batch");
        newStarts.push_back(clamp(starts[k]));
        newEnds.push_back(clamp(ends[k]));
        newAxes.push_back(axis);
    }
    if (newAxes.empty()) return pass();
    emit("Slice", "", {in(0), ints(newStarts), ints(newEnds), ints(newAxes)}, out());
}

// Takes every `step`-th entry of an axis. If possible, reshapes the axis to [count, step] and slices
// the second axis; else slices each entry separately.
void Lowering::everyFew(int64_t axis, int64_t start, int64_t step) {
    const Shape& shape = shapeOf(in(0));
    const int64_t count = shapeOf(out())[axis];
    if (m_shapes.isBatch(in(0), axis)) fail("slices the batch");
    if (start >= step || shape[axis] % step != 0 || count != shape[axis] / step) {
        List<int64_t> places(static_cast<size_t>(count));
        for (int64_t k = 0; k < count; ++k)
            places[k] = start + k * step;
        return emitPicked(in(0), out(), axis, places);
    }
    List<int64_t> cut(shape.begin(), shape.end());
    for (size_t k = 0; k < cut.size(); ++k)
        if (m_shapes.isBatch(in(0), k)) cut[k] = -1;
    cut[axis] = count;
    cut.insert(cut.begin() + axis + 1, step);
    const int apart = fresh(".apart"), one = fresh(".one");
    emit("Reshape", "", {in(0), ints(cut)}, apart);
    emit("Slice", "", {apart, ints({start}), ints({start + 1}), ints({axis + 1})}, one);
    reshapeLike(one, in(0));
}

void Lowering::split() {
    const int64_t axis = m_node->axis(0, shapeOf(in(0)).size());
    int64_t position = 0;
    for (int part : m_node->outputs) {
        const int64_t size = shapeOf(part)[axis];
        emitSlice(in(0), part, axis, position, position + size);
        position += size;
    }
}

int Lowering::batchOfZeros(size_t axis, size_t rank) {
    const int image = m_graph.inputs[0].value;
    const int pixel = fresh(".pixel"), zero = fresh(".zero"), zeros = fresh(".zeros");
    emit("Slice", "", {image, ints({0, 0, 0}), ints({1, 1, 1}), ints({1, 2, 3})}, pixel);
    const int nothing = m_graph.addConstant("nothing", Tensor::floats({1, 1, 1, 1}));
    compute("mul", pixel, nothing, zero);
    List<int64_t> target(rank, 1);
    target[axis] = -1;
    emit("Reshape", "", {zero, ints(target)}, zeros);
    return zeros;
}

void Lowering::expand() {
    Shape shape = shapeOf(out());
    size_t repeated = shape.size();
    for (size_t k = 0; k < shape.size(); ++k) {
        if (!m_shapes.isBatch(out(), k)) continue;
        const size_t skip = shape.size() - shapeOf(in(0)).size();
        if (k < skip || !m_shapes.isBatch(in(0), k - skip)) {
            if (repeated < shape.size() || shape.size() < 2 || shapeOf(m_graph.inputs[0].value).size() != 4)
                fail("repeats a value for every image of a dynamic batch");
            repeated = k;
        }
        shape[k] = 1;
    }
    const int zeros = ranked(m_graph.addConstant("zeros", Tensor::floats(shape)), shape.size());
    if (repeated == shape.size()) {
        compute("add", in(0), zeros, out());
        return;
    }
    const int batch = batchOfZeros(repeated, shape.size()), wide = fresh(".wide");
    compute("add", batch, zeros, wide);
    compute("add", wide, m_graph.isConstant(in(0)) ? ranked(in(0), shape.size()) : in(0), out());
}

void Lowering::pad() {
    List<int> inputs{in(0), ints(listOf(1, "pads"))};
    if (m_node->input(2) != kAbsent)
        inputs.push_back(
            m_graph.addConstant("fill", Tensor::floats({1}, static_cast<float>(known(2).at(0)))));
    if (m_node->input(3) != kAbsent) fail("pads chosen axes");
    emit("Pad", "", inputs, out()).set("mode", m_node->getString("mode", "constant"));
}

}  // namespace mpm::models
