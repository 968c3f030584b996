// The operators of the domain mpm. Most functions find only shapes, to inspect converted models; OpenCV
// computes the values. A few functions also compute values, for example of operators between an encoder and a
// decoder.
#include <algorithm>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

// Returns the number of special tokens of an image. Each window has separate special tokens.
int64_t specialRows(const Node& node) {
    const int64_t special = node.getInt("special_tokens", 1);
    const List<int64_t> window = node.getInts("window"), grid = node.getInts("grid");
    if (window.empty()) return special;
    const auto fits = [](const List<int64_t>& sides) {
        return sides.size() == 2 && sides[0] > 0 && sides[1] > 0;
    };
    if (!fits(window) || !fits(grid)) throw Refusal("its windows do not fit");
    const int64_t down = (grid[0] - 1) / window[0] + 1, across = (grid[1] - 1) / window[1] + 1;
    return checkedProduct<int64_t>(down, across, special);
}

void asInput(Call& c) {
    for (size_t k = 0; k < c.node.outputs.size(); ++k)
        c.shape(k, Type::Float, c.input(0).shape());
}

void encoderShapes(Call& c) {
    const Shape& tokens = c.input(0).shape();
    asInput(c);
    if (c.node.getInt("map_output", 0) == 0) return;
    const int64_t others = checkedSum<int64_t>(specialRows(c.node), c.node.getInt("trailing_tokens", 0));
    if (tokens.size() != 3 || others < 0 || others > tokens[1]) throw Refusal("its tokens do not fit");
    c.shape(c.node.outputs.size() - 1, Type::Int, {tokens[0], tokens[1] - others});
}

void embed(Call& c) {
    const Shape& table = c.input(1).shape();
    if (table.size() != 2 || c.input(0).rank() < 1) throw Refusal("its table is not a matrix");
    const Shape& rows = c.input(0).shape();
    const Shape out{rows[0], table[0], table[1]};
    const int64_t first = c.node.getInt("first", 0);
    const bool plain = rows.size() == 3 && !c.node.has("patch") && rows[2] == table[1] && first >= 0 &&
                       rows[1] <= table[0] && first <= table[0] - rows[1];
    if (!plain || !c.known()) return c.shape(0, Type::Float, out);
    const Tensor x = c.input(0), embedding = c.input(1);
    Tensor& y = c.make(0, Type::Float, out);
    const int64_t whole = elementCount(table), part = elementCount({rows[1], rows[2]});
    for (int64_t image = 0; image < rows[0]; ++image) {
        float* to = y.writeF() + image * whole;
        std::copy_n(embedding.f() + 0, whole, to);
        for (int64_t k = 0; k < part; ++k)
            to[first * table[1] + k] += x.f()[image * part + k];
    }
}

void linearShape(Call& c) {
    Shape shape = c.input(0).shape();
    if (shape.empty() || c.input(1).rank() != 2 || shape.back() != c.input(1).dim(0))
        throw Refusal("its weight does not fit");
    const int64_t depth = shape.back(), width = shape.back() = c.input(1).dim(1);
    if (!c.known() || depth < 1) return c.shape(0, Type::Float, shape);
    const Tensor x = c.input(0), weight = c.input(1), bias = c.has(2) ? c.input(2) : Tensor();
    if (bias.known() && bias.size() != width) throw Refusal("its bias does not fit");
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t rows = x.size() / depth;
    gemm(rows, width, depth, x.f() + 0, weight.f() + 0, y.writeF() + 0);
    for (int64_t k = 0; bias.known() && k < y.size(); ++k)
        y.writeF()[k] += bias.f()[k % width];
}

void ownConv(Call& c) {
    const Shape& shape = c.input(0).shape();
    const Shape& weight = c.input(c.node.getString("residual", "none") == "none" ? 1 : 2).shape();
    const auto listOf = [&](const char* name, const List<int64_t>& usual) {
        return c.node.has(name) ? c.node.getInts(name) : usual;
    };
    const List<int64_t> stride = listOf("stride", {1, 1}), dilation = listOf("dilation", {1, 1}),
                        padding = listOf("padding", {0, 0, 0, 0});
    const bool whole = stride.size() == 2 && dilation.size() == 2 && padding.size() == 4;
    if (shape.size() != 4 || weight.size() != 4 || !whole) throw Refusal("its weight does not fit");
    const List<int64_t> size = listOf("size", {shape[2], shape[3]});
    if (size.size() != 2) throw Refusal("its size does not fit");
    Shape out{shape[0], weight[0], 0, 0};
    for (size_t k = 0; k < 2; ++k) {
        const int64_t reach = checkedProduct<int64_t>(weight[2 + k] - 1, dilation[k]);
        const int64_t span = checkedSum<int64_t>(size[k], padding[k], padding[2 + k], -reach, -1);
        if (stride[k] < 1 || dilation[k] < 1 || reach < 0 || span < 0)
            throw Refusal("its window does not fit");
        out[2 + k] = span / stride[k] + 1;
    }
    c.shape(0, Type::Float, out);
}

void ownConvTranspose(Call& c) {
    const Shape& shape = c.input(0).shape();
    const std::vector<int64_t> window = c.node.getInts("window"),
                               kernel = c.node.has("kernel") ? c.node.getInts("kernel") : window;
    if (shape.size() != 4 || window.size() != 2 || kernel.size() != 2 || c.input(1).rank() != 2 ||
        kernel[0] < 1 || kernel[1] < 1)
        throw Refusal("its weight does not fit");
    c.shape(0, Type::Float,
            {shape[0], c.input(1).dim(0) / checkedProduct<int64_t>(kernel[0], kernel[1]),
             checkedProduct<int64_t>(shape[2], window[0]), checkedProduct<int64_t>(shape[3], window[1])});
}

void resizeShape(Call& c) {
    Shape shape = c.input(0).shape();
    const std::vector<int64_t> size = c.node.getInts(c.node.has("crop") ? "crop" : "size");
    const bool labels = c.node.getInt("argmax", 0) != 0;
    if (shape.size() != 4 || size.size() != 2) throw Refusal("its size does not fit");
    c.shape(0, labels ? Type::Int : Type::Float, {shape[0], labels ? 1 : shape[1], size[0], size[1]});
}

void shareShape(Call& c) {
    const Shape& tokens = c.input(1).shape();
    if (tokens.size() != 3 || c.input(2).rank() != 3) throw Refusal("its tokens do not fit");
    c.shape(0, Type::Float, tokens);
    c.shape(1, Type::Int, {tokens[0], checkedProduct<int64_t>(4, c.input(2).dim(1))});
}

void matMulShape(Call& c) {
    const bool reversed = c.node.getInt("reversed", 0) != 0;
    const Shape& a = c.input(reversed ? 1 : 0).shape();
    const Shape& b = c.input(reversed ? 0 : 1).shape();
    if (a.size() < 2 || b.size() < 2) throw Refusal("it needs two matrices");
    Shape shape(std::max(a.size(), b.size()) - 2);
    for (size_t k = 0; k < shape.size(); ++k) {
        const size_t back = shape.size() - k + 2;
        shape[k] =
            std::max(back <= a.size() ? a[a.size() - back] : 1, back <= b.size() ? b[b.size() - back] : 1);
    }
    shape.insert(shape.end(), {a[a.size() - 2], b.back()});
    c.shape(0, Type::Float, shape);
}

void maskLabels(Call& c) {
    const Shape &masks = c.input(0).shape(), &classes = c.input(1).shape();
    const std::vector<int64_t> size = c.node.getInts("size");
    if (masks.size() != 4 || classes.size() != 3 || size.size() != 2) throw Refusal("its inputs do not fit");
    const Shape labels{masks[0], 1, size[0], size[1]};
    c.shape(0, Type::Int, labels);
    if (c.node.outputs.size() > 1) c.shape(1, Type::Float, labels);
}

void merge(Call& c) {
    const Shape& shape = c.input(0).shape();
    const int64_t special = c.node.getInt("special_tokens", 1);
    if (shape.size() != 3 || special < 0 || special > shape[1]) throw Refusal("its tokens do not fit");
    // Each token is a separate cluster, because conversions are verified without merging.
    const Tensor tokens = c.input(0);
    const int64_t count = shape[1] - special;
    Tensor& map = c.make(1, Type::Int, {tokens.dim(0), count});
    for (int64_t k = 0; k < map.size(); ++k)
        map.writeI()[k] = k % count;
    c.out.push_back(Tensor::ints({tokens.dim(0)}, count));
    c.out[0] = tokens;
}

void topKShapes(Call& c) {
    const Tensor scores = c.input(0);
    const Shape& shape = scores.shape();
    const int64_t count = c.node.getInt("k", 0);
    if (shape.size() != 2 && shape.size() != 3) throw Refusal("it takes scores [batch, S] or [batch, S, C]");
    const bool flat = c.node.getInt("flatten", 0) != 0;
    const int64_t places = shape.size() == 3 && flat ? elementCount({shape[1], shape[2]}) : shape[1];
    if (count < 1 || count > places) throw Refusal("its k does not fit");
    c.shape(0, Type::Float, {shape[0], count});
    c.shape(1, Type::Int, {shape[0], count});
}

void gatherRowsShape(Call& c) {
    const Shape &data = c.input(0).shape(), &indices = c.input(1).shape();
    if (data.size() != 3 || indices.size() != 2) throw Refusal("its inputs do not fit");
    c.shape(0, Type::Float, {indices[0], indices[1], data[2]});
}

}  // namespace

void addOwn(OperatorTable& table) {
    table["mpm.MpmEncoder"] = encoderShapes;
    table["mpm.MpmLayerNorm"] = asInput;
    table["mpm.MpmFunction"] = asInput;
    table["mpm.MpmEmbed"] = embed;
    table["mpm.MpmConv"] = ownConv;
    table["mpm.MpmConvTranspose"] = ownConvTranspose;
    table["mpm.MpmLinear"] = linearShape;
    table["mpm.MpmMaskLabels"] = maskLabels;
    table["mpm.MpmResize"] = resizeShape;
    table["mpm.MpmTranspose"] = table.at("Transpose");
    table["mpm.MpmShare"] = shareShape;
    table["mpm.MpmMerge"] = merge;
    table["mpm.MpmRestore"] = [](Call& c) { c.out.assign(1, c.input(0)); };
    table["mpm.MpmTopK"] = topKShapes;
    table["mpm.MpmGatherRows"] = gatherRowsShape;
    table["mpm.MpmMatMul"] = matMulShape;
    table["mpm.MpmArithmetic"] = [](Call& c) {
        c.shape(0, Type::Float, broadcast(c.input(0).shape(), c.input(1).shape()));
    };
}

}  // namespace mpm::models
