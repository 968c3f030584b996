#include "models/onnx/io/zero_rows.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

namespace {

// Returns whether the node is an MpmEmbed without `patch` whose table is a constant f32 matrix.
bool hasTable(const Graph& graph, const Node& node) {
    if (node.domain != "mpm" || node.op != "MpmEmbed" || node.has("patch")) return false;
    const int value = node.input(1);
    return value != kAbsent && graph.isConstant(value) && graph.constant(value).isFloat() &&
           graph.constant(value).shape().size() == 2;
}

}  // namespace

int64_t zeroRows(const Graph& graph, const Node& node) {
    constexpr int64_t kLeast = 1 << 17;  // with fewer zeros, an attribute saves too little
    if (!hasTable(graph, node)) return 0;
    const int value = node.input(1);
    const auto reads = [value](const Node& other) {
        return std::count(other.inputs.begin(), other.inputs.end(), value) > 0;
    };
    const Tensor& table = graph.constant(value);
    if (table.size() == 0 || std::count_if(graph.nodes.begin(), graph.nodes.end(), reads) > 1) return 0;
    const auto isZero = [](float entry) { return entry == 0 && !std::signbit(entry); };
    int64_t entries = 0;
    while (entries < table.size() && isZero(table.f()[entries]))
        ++entries;
    const int64_t rows = std::min(entries / table.dim(1), table.dim(0) - 1);
    return rows * table.dim(1) >= kLeast ? rows : 0;  // fits: at most table.size()
}

Tensor withoutRows(const Tensor& table, int64_t rows) {
    const float* const from = table.f().data();
    const int64_t width = table.dim(1), skipped = rows * width;  // fits: at most table.size()
    return Tensor::floats({table.dim(0) - rows, width}, List<float>(from + skipped, from + table.size()));
}

void addZeroRows(Graph& graph) {
    for (Node& node : graph.nodes) {
        if (node.domain != "mpm" || node.op != "MpmEmbed" || !node.has("zeros")) continue;
        const int64_t rows = node.getInt("zeros", 0);
        if (!hasTable(graph, node) || rows < 0)
            throw Refusal(graph.describe(node) +
                          " has an attribute zeros that does not fit: the file is damaged");
        const int value = node.input(1);
        const Tensor table = graph.constant(value);
        const Shape shape{checkedSum<int64_t>(rows, table.dim(0)), table.dim(1)};
        Tensor whole = Tensor::zeros(Type::Float, shape);
        std::copy_n(table.f().data(), table.size(), whole.writeF() + (whole.size() - table.size()));
        node.inputs[1] = graph.addConstant(graph.values[value].name, whole);
        node.attributes.erase("zeros");
    }
}

}  // namespace mpm::models
