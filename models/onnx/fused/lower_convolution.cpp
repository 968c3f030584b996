// Lowers convolutions and transposed convolutions.
#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/fused/lowering.hpp"

namespace mpm::models {

namespace {

// Kinds of convolutions that MpmConv computes 1.2 to 3 times as fast as OpenCV 4.6 in f32 with AVX-512
// (bench/conv_bench.cpp, docs/internals/performance.md). OpenCV still computes small convolutions, which have
// fewer than kLeastProducts multiplications.
struct OwnKind {
    int64_t kernel, mostStride;
    int64_t leastChannels, leastOuts;  // in each group
};
constexpr OwnKind kOwnKinds[] = {{1, 1, 16, 1}, {3, 2, 8, 8}, {5, 2, 8, 8}, {7, 2, 8, 8}};
constexpr int64_t kLeastProducts = int64_t{1} << 21;  // multiplications for an image

List<int64_t> listOr(const Node& node, const char* name, const List<int64_t>& usual) {
    return node.has(name) ? node.getInts(name) : usual;
}

}  // namespace

bool Lowering::takesOwnConvolution(const Tensor& weight) const {
    const Shape& y = shapeOf(out());
    const List<int64_t> strides = listOr(*m_node, "strides", {1, 1}),
                        pads = listOr(*m_node, "pads", {0, 0, 0, 0}),
                        dilations = listOr(*m_node, "dilations", {1, 1});
    const bool whole = weight.rank() == 4 && y.size() == 4 && strides.size() == 2 && pads.size() == 4 &&
                       dilations.size() == 2 && m_node->getString("auto_pad", "NOTSET") == "NOTSET";
    if (!whole || weight.dim(2) != weight.dim(3) || strides[0] != strides[1]) return false;
    for (size_t k = 0; k < 4; ++k)
        if (pads[k] < 0 || pads[k] > (weight.dim(2) - 1) * dilations[k % 2]) return false;
    const int64_t groups = std::max<int64_t>(1, m_node->getInt("group", 1));
    const double products =
        static_cast<double>(weight.size()) * static_cast<double>(y[2]) * static_cast<double>(y[3]);
    return products >= kLeastProducts &&
           std::any_of(std::begin(kOwnKinds), std::end(kOwnKinds), [&](const OwnKind& kind) {
               return weight.dim(2) == kind.kernel && strides[0] <= kind.mostStride &&
                      weight.dim(1) >= kind.leastChannels && weight.dim(0) / groups >= kind.leastOuts;
           });
}

List<int> Lowering::convolved(int weight) const {
    List<int> inputs{in(0), weight};
    if (m_node->input(2) != kAbsent) {
        known(2);
        inputs.push_back(in(2));
    }
    return inputs;
}

void Lowering::ownConvolution() {
    const Node old = *m_node;
    Node& node = emit("MpmConv", "mpm", convolved(in(1)), out());
    const auto set = [&](const char* name, const char* from, const List<int64_t>& usual) {
        const List<int64_t> values = listOr(old, from, usual);
        if (values != usual) node.set(name, values);
    };
    set("stride", "strides", {1, 1});
    set("padding", "pads", {0, 0, 0, 0});
    set("dilation", "dilations", {1, 1});
    if (old.getInt("group", 1) > 1) node.set("groups", old.getInt("group", 1));
}

void Lowering::convolution() {
    const Tensor& weight = known(1);
    if (m_node->is("Conv") && takesOwnConvolution(weight)) return ownConvolution();
    m_node->set("kernel_shape", {weight.shape().begin() + 2, weight.shape().end()});
    keep();
}

namespace {

// Returns whether the output is exactly `strides` times as large as the input. The kernel may be larger than
// the stride if padding removes the additional rows and columns of the output.
bool isUpscaling(const Node& node, const Tensor& weight) {
    const List<int64_t> strides = listOr(node, "strides", {1, 1}), pads = listOr(node, "pads", {0, 0, 0, 0}),
                        dilations = listOr(node, "dilations", {1, 1}),
                        more = listOr(node, "output_padding", {0, 0});
    if (weight.rank() != 4 || strides.size() != 2 || pads.size() != 4 || more.size() != 2 ||
        dilations != List<int64_t>{1, 1} || node.getInt("group", 1) != 1 || node.has("output_shape") ||
        node.getString("auto_pad", "NOTSET") != "NOTSET")
        return false;
    for (size_t k = 0; k < 2; ++k) {
        if (strides[k] < 1) return false;
        const int64_t beyond = weight.dim(2 + static_cast<int>(k)) - strides[k];
        if (beyond < 0 || pads[k] < 0 || pads[k] > beyond || pads[2 + k] < 0 || pads[2 + k] > beyond ||
            more[k] < 0 || more[k] > beyond || beyond - pads[k] - pads[2 + k] + more[k] != 0)
            return false;
    }
    return true;
}

}  // namespace

void Lowering::convTranspose() {
    const Tensor weight = known(1);  // a copy: addConstant() may move the tensors
    const Node old = *m_node;
    if (!isUpscaling(old, weight)) return convolution();
    const List<int64_t> window = listOr(old, "strides", {1, 1}), pads = listOr(old, "pads", {0, 0, 0, 0}),
                        kernel{weight.dim(2), weight.dim(3)};
    // Changes the weight from [C, D, rows, columns] to [D * rows * columns, C].
    const int rows = m_graph.addConstant(m_graph.values[in(1)].name + ".rows", weight.transposed());
    Node& node = emit("MpmConvTranspose", "mpm", convolved(rows), out());
    node.set("window", window);
    if (kernel == window) return;
    node.set("kernel", kernel);
    node.set("padding", {pads[0], pads[1]});
}

}  // namespace mpm::models
