#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <cmath>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// The indices of a table's axes. Tables are [1, width, rows, columns] or [1, rows, columns, width], with or
// without axis 0.
struct TableAxes {
    int64_t width = 0, rows = 0, columns = 0;
};

std::optional<TableAxes> axesOf(const Shape& shape, int64_t width, const PatchGrid& grid) {
    const int64_t rank = static_cast<int64_t>(shape.size()), first = rank - 3;
    if (rank < 3 || rank > 4 || (rank == 4 && shape[0] != 1)) return std::nullopt;
    for (const TableAxes axes :
         {TableAxes{first, first + 1, first + 2}, TableAxes{first + 2, first, first + 1}})
        if (shape[axes.width] == width && shape[axes.rows] == grid.rows &&
            shape[axes.columns] == grid.columns)
            return axes;
    return std::nullopt;
}

List<float> rowsOf(const Tensor& table, const TableAxes& axes) {
    const int64_t width = table.shape()[axes.width];
    const bool widthLast = axes.width > axes.rows;
    return (widthLast ? table : table.reshaped({width, table.size() / width}).transposed()).toFloats();
}

// If adding one number for each column to `found` gives `rows`, returns the numbers; else an empty list.
List<float> shiftOf(const List<float>& found, const List<float>& rows, int64_t width) {
    float largest = 0;
    for (float value : rows)
        largest = std::max(largest, std::abs(value));
    List<float> shift(static_cast<size_t>(width));
    for (int64_t c = 0; c < width; ++c)
        shift[c] = rows[c] - found[c];
    for (size_t k = 0; k < rows.size(); ++k)
        if (!(std::abs(rows[k] - found[k] - shift[k % width]) <= 2e-6f * largest)) return {};
    return shift;
}

// Returns the inputs of the table's Resize for the grid `to`. A Resize with scales rounds extent * scale down
// to the new size. The changed scale keeps the fraction that extent * scale has in the export.
List<Tensor> inputsFor(const ResizedTable& table, const TableAxes& axes, const PatchGrid& to) {
    List<Tensor> inputs = table.inputs;
    const Shape &in = inputs[0].shape(), &out = table.result.shape();
    List<int64_t> listed = table.node.getInts("axes");
    if (listed.empty()) listed = counted(in.size());
    const bool bySizes = inputs.size() > 3 && inputs[3].known();
    const size_t at = bySizes ? 3 : table.opset < 11 || table.node.is("Upsample") ? 1 : 2;
    List<int64_t> sizes = bySizes ? inputs[3].toInts() : List<int64_t>();
    List<float> scales = bySizes ? List<float>() : List<float>(inputs[at].toFloats());
    for (size_t k = 0; k < listed.size(); ++k) {
        const int64_t axis = listed[k] < 0 ? listed[k] + inputs[0].rank() : listed[k];
        if (axis != axes.rows && axis != axes.columns) continue;
        const int64_t size = axis == axes.rows ? to.rows : to.columns;
        if (bySizes) {
            sizes[k] = size;
        } else {
            const double extent = static_cast<double>(in[axis]);
            const double rest = std::max(0.0, scales[k] * extent - static_cast<double>(out[axis]));
            scales[k] = static_cast<float>((static_cast<double>(size) + rest) / extent);
        }
    }
    inputs[at] =
        bySizes ? Tensor::vector(sizes) : Tensor::floats({static_cast<int64_t>(scales.size())}, scales);
    return inputs;
}

}  // namespace

std::optional<Tensor> ownPositions(const List<ResizedTable>& tables, const Tensor& rows,
                                   const PatchGrid& from, const PatchGrid& to) {
    const int64_t width = rows.dim(1);
    for (const ResizedTable& table : tables) {
        checkTime();
        const auto axes = axesOf(table.result.shape(), width, from);
        if (!axes || !table.result.isFloat()) continue;
        const List<float> shift = shiftOf(rowsOf(table.result, *axes), rows.toFloats(), width);
        if (shift.empty()) continue;
        Graph graph;
        graph.opset = table.opset;
        const Tensor resized = evaluateNode(graph, table.node, inputsFor(table, *axes, to))[0];
        const auto now = axesOf(resized.shape(), width, to);
        if (!now) continue;
        List<float> values = rowsOf(resized, *axes);
        for (size_t k = 0; k < values.size(); ++k)
            values[k] += shift[k % width];
        return Tensor::floats({to.count(), width}, values);
    }
    return std::nullopt;
}

}  // namespace mpm::models
