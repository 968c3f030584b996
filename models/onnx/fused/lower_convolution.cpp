// Convolutions and transposed convolutions.
#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {

void Lowering::convolution() {
    const Tensor& weight = known(1);
    Node node = *m_node;
    node.attributes["kernel_shape"] =
        Attribute::of(List<int64_t>(weight.shape().begin() + 2, weight.shape().end()));
    m_graph.nodes.push_back(node);
}

namespace {

// Windows that touch but do not overlap, each pixel of the input giving one.
bool isUpscaling(const Node& node, const Tensor& weight) {
    const auto all = [&](const char* name, int64_t wanted) {
        const List<int64_t> values = node.getInts(name);
        return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
    };
    const List<int64_t> window(weight.shape().begin() + 2, weight.shape().end());
    return weight.rank() == 4 && node.getInts("strides") == window && node.getInt("group", 1) == 1 &&
           all("pads", 0) && all("output_padding", 0) && all("dilations", 1) && !node.has("output_shape") &&
           node.getString("auto_pad", "NOTSET") == "NOTSET";
}

// [C, D, rows, columns] to [D * rows * columns, C]
Tensor rowsOf(const Tensor& weight) {
    const int64_t depth = weight.dim(0), rows = weight.size() / std::max<int64_t>(1, depth);
    Tensor turned(Type::Float, {rows, depth});
    turned.allocate();
    for (int64_t k = 0; k < weight.size(); ++k)
        turned.writeF()[k % rows * depth + k / rows] = weight.f()[k];
    return turned;
}

}  // namespace

void Lowering::convTranspose() {
    const Tensor& weight = known(1);
    if (!isUpscaling(*m_node, weight)) return convolution();
    List<int> inputs{in(0), m_graph.addConstant(m_graph.values[in(1)].name + ".rows", rowsOf(weight))};
    if (m_node->input(2) != kAbsent) {
        known(2);
        inputs.push_back(in(2));
    }
    Node& node = emit("MpmConvTranspose", "mpm", inputs, out());
    node.attributes["window"] = Attribute::of(List<int64_t>{weight.dim(2), weight.dim(3)});
}

}  // namespace mpm::models
