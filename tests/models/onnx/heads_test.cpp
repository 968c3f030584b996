// Tests parts of decoders that the converter rewrites: transposed convolutions, adaptive pooling, transposes,
// norms.
#include <functional>

#include "heads_fixture.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/passes/passes.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

// Adaptive pooling divides `from` pixels into `to` windows. startOf returns the first pixel of window i,
// endOf returns the pixel after the window.
int64_t startOf(int64_t i, int64_t from, int64_t to) {
    return i * from / to;
}
int64_t endOf(int64_t i, int64_t from, int64_t to) {
    return ((i + 1) * from + to - 1) / to;
}
int64_t widest(int64_t from, int64_t to) {
    int64_t most = 0;
    for (int64_t i = 0; i < to; ++i)
        most = std::max(most, endOf(i, from, to) - startOf(i, from, to));
    return most;
}

// Gathers pixels [..., B, C] of a map [rows, columns, B, C] by row and column, as the dynamo exporter does.
// If `joined`, first joins rows and columns to a single axis, as the TorchScript exporter does.
int pixelsAt(GraphBuilder& g, int last, const Shape& map, const Tensor& at, bool joined) {
    if (!joined) return g.node("GatherND", {last, g.constant(at)});
    Shape shape(at.shape().begin(), at.shape().end() - 1);
    Tensor index = Tensor::ints(shape);
    for (int64_t k = 0; k < index.size(); ++k)
        index.writeI()[k] = at.i()[2 * k] * map[3] + at.i()[2 * k + 1];
    const int flat = g.node("Flatten", {last});
    g.with("axis", Attribute::of(int64_t{2}));
    const int picked = g.node("Gather", {flat, g.constant(index)});
    List<int64_t> to(shape.begin(), shape.end());
    to.push_back(map[0]);
    to.push_back(map[1]);
    return g.node("Reshape", {picked, g.ints(to)});
}

// Writes adaptive_avg_pool2d as PyTorch decomposes it: gathers the pixels of all windows, masks pixels after
// the end of a window, sums each window and divides by its size. `last` is the map with channels last.
int adaptivePoolOf(GraphBuilder& g, int last, const Shape& map, int64_t rows, int64_t columns, bool joined) {
    const int64_t kh = widest(map[2], rows), kw = widest(map[3], columns);
    Tensor pixels = Tensor::ints({rows, kh, columns, kw, 2});
    Tensor outside = Tensor::ints({rows, kh, columns, kw}, 0, models::Type::Bool);
    std::vector<float> sizes;
    for (int64_t k = 0; k < outside.size(); ++k) {
        const int64_t ox = k / kw % columns, oy = k / kw / columns / kh;
        const int64_t py = startOf(oy, map[2], rows) + k / kw / columns % kh,
                      px = startOf(ox, map[3], columns) + k % kw;
        pixels.writeI()[2 * k] = std::min(py, map[2] - 1);
        pixels.writeI()[2 * k + 1] = std::min(px, map[3] - 1);
        outside.writeI()[k] = py >= endOf(oy, map[2], rows) || px >= endOf(ox, map[3], columns);
    }
    for (int64_t k = 0; k < rows * columns; ++k) {
        const int64_t oy = k / columns, ox = k % columns;
        sizes.push_back(static_cast<float>((endOf(oy, map[2], rows) - startOf(oy, map[2], rows)) *
                                           (endOf(ox, map[3], columns) - startOf(ox, map[3], columns))));
    }
    const int windows =
        withInts(g, "Transpose", pixelsAt(g, last, map, pixels, joined), "perm", {4, 5, 0, 1, 2, 3});
    const int masked = g.node("Where", {g.constant(outside), g.number(0), windows});
    int sum = models::kAbsent;
    for (int64_t k = 0; k < kh * kw; ++k) {
        const int row = g.node("Gather", {masked, g.constant(Tensor::ints({}, k / kw))});
        g.with("axis", Attribute::of(int64_t{3}));
        const int one = g.node("Gather", {row, g.constant(Tensor::ints({}, k % kw))});
        g.with("axis", Attribute::of(int64_t{4}));
        sum = sum == models::kAbsent ? one : g.node("Add", {sum, one});
    }
    return g.node("Div", {sum, g.constant(Tensor::floats({rows, columns}, sizes))});
}

int adaptivePool(GraphBuilder& g, int x, const Shape& map, int64_t rows, int64_t columns,
                 bool joined = false) {
    return adaptivePoolOf(g, withInts(g, "Transpose", x, "perm", {2, 3, 0, 1}), map, rows, columns, joined);
}

Tensor noise(const Shape& shape) {
    Tensor t = Tensor::floats(shape);
    cv::RNG rng(5);
    for (int64_t k = 0; k < t.size(); ++k)
        t.writeF()[k] = rng.uniform(-2.f, 2.f);
    return t;
}

void comparePool(const Shape& map, int64_t rows, int64_t columns, bool joined) {
    GraphBuilder g(18);
    const int x = g.input("x", map);
    const int relu = g.node("Relu", {adaptivePool(g, x, map, rows, columns, joined)});
    g.output(g.node("Neg", {relu}), "y", {map[0], map[1], rows, columns});
    models::Graph graph = g.graph();
    const Tensor image = noise(map), before = models::evaluate(graph, {image})[0];
    models::normalise(graph, models::infer(graph, {Tensor(models::Type::Float, map)}));
    for (const Node& node : graph.nodes)
        EXPECT_FALSE(node.is("GatherND") || node.is("Where") || node.is("Gather"));
    const Tensor after = models::evaluate(graph, {image})[0];
    ASSERT_EQ(after.shape(), before.shape());
    for (int64_t k = 0; k < after.size(); ++k) {
        const int64_t ox = k % columns, oy = k / columns % rows, plane = k / columns / rows;
        double sum = 0, count = 0;
        for (int64_t py = startOf(oy, map[2], rows); py < endOf(oy, map[2], rows); ++py) {
            for (int64_t px = startOf(ox, map[3], columns); px < endOf(ox, map[3], columns); ++px, ++count)
                sum += image.f()[(plane * map[2] + py) * map[3] + px];
        }
        EXPECT_NEAR(before.f()[k], -std::max(0.0, sum / count), 1e-5);
        EXPECT_NEAR(after.f()[k], before.f()[k], 1e-5);
    }
}

TEST(Heads, AdaptivePoolIsOneProduct) {
    for (const Shape& map : {Shape{2, 3, 7, 5}, Shape{1, 1, 9, 16}}) {
        for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>(1, 1), {3, 2}, {6, 5}}) {
            for (const bool joined : {false, true})
                comparePool(map, rows, columns, joined);
        }
    }
}

// In pyramid pooling by PyTorch's default exporter, several adaptive pools read the same transposed map. The
// converter must still recognise each of these pools.
TEST(Heads, AdaptivePoolsOfOneTransposeArePooledApart) {
    const Shape map{1, 3, 8, 10};
    for (const bool joined : {false, true}) {
        GraphBuilder g(18);
        const int x = g.input("x", map), last = withInts(g, "Transpose", x, "perm", {2, 3, 0, 1});
        for (const int64_t side : {3, 6, 7}) {
            const int pooled = adaptivePoolOf(g, last, map, side, side, joined);
            g.output(g.node("Relu", {pooled}), "y" + std::to_string(side), {1, 3, side, side});
        }
        models::Graph graph = g.graph();
        const Tensor image = noise(map);
        const List<Tensor> before = models::evaluate(graph, {image});
        models::normalise(graph, models::infer(graph, {Tensor(models::Type::Float, map)}));
        for (const Node& node : graph.nodes)
            EXPECT_FALSE(node.is("GatherND") || node.is("Where") || node.is("Gather")) << joined;
        const List<Tensor> after = models::evaluate(graph, {image});
        for (size_t k = 0; k < after.size(); ++k) {
            ASSERT_EQ(after[k].shape(), before[k].shape());
            for (int64_t i = 0; i < after[k].size(); ++i)
                EXPECT_NEAR(after[k].f()[i], before[k].f()[i], 1e-5);
        }
    }
}

TEST(Heads, OtherGathersStay) {
    const Shape map{1, 2, 3, 3};
    Tensor pixels = Tensor::ints({2, 2});
    pixels.writeI()[0] = 2;
    for (const bool shifted : {false, true}) {
        GraphBuilder g(18);
        const int x = g.input("x", map);
        const int picked =
            g.node("GatherND", {withInts(g, "Transpose", x, "perm", {2, 3, 0, 1}), g.constant(pixels)});
        const int back =
            g.node("Reshape", {withInts(g, "Transpose", picked, "perm", {1, 2, 0}), g.ints({1, 2, 1, 2})});
        const int reversed = g.node("Gather", {back, g.ints({1, 0})});
        g.with("axis", Attribute::of(int64_t{1}));
        g.output(g.node("Relu", {shifted ? g.node("Add", {back, g.number(1)}) : reversed}), "y",
                 {1, 2, 1, 2});
        models::Graph graph = g.graph();
        models::normalise(graph, models::infer(graph, {Tensor(models::Type::Float, map)}));
        const auto isGather = [](const Node& node) { return node.is("GatherND"); };
        EXPECT_TRUE(std::any_of(graph.nodes.begin(), graph.nodes.end(), isGather)) << shifted;
    }
}

TEST_F(HeadsInOpenCV, AdaptivePool) {
    const Shape map{1, SmallExport::kDim, SmallExport::kRows, SmallExport::kColumns};
    const List<Node> nodes =
        convert([&](SmallExport& m,
                    int x) { return m.builder().node("Relu", {adaptivePool(m.builder(), x, map, 4, 3)}); },
                {1, SmallExport::kDim, 4, 3});
    EXPECT_EQ(count(nodes, "MpmLinear"), 1);
}

TEST_F(HeadsInOpenCV, ConvTransposeOfTouchingWindows) {
    for (const bool biased : {false, true}) {
        for (const int64_t window : {2, 3}) {
            for (const bool overlaps : {false, true}) {
                const int64_t stride = overlaps ? 1 : window;
                const auto head = [&](SmallExport& m, int x) {
                    List<int> inputs{
                        x, m.builder().constant(m.random({SmallExport::kDim, 5, window, window}, 0.3f))};
                    if (biased) inputs.push_back(m.builder().constant(m.random({5}, 1)));
                    const int y = m.builder().node("ConvTranspose", inputs);
                    m.builder().with("strides", Attribute::of(List<int64_t>{stride, stride}));
                    m.builder().with("kernel_shape", Attribute::of(List<int64_t>{window, window}));
                    return y;
                };
                const auto size = [&](int64_t from) { return (from - 1) * stride + window; };
                const List<Node> nodes =
                    convert(head, {1, 5, size(SmallExport::kRows), size(SmallExport::kColumns)});
                EXPECT_EQ(count(nodes, "MpmConvTranspose"), overlaps ? 0 : 1);
                EXPECT_EQ(count(nodes, "ConvTranspose"), overlaps ? 1 : 0);
            }
        }
    }
}

// The numbers of channels are large enough for MpmConvTranspose.
TEST_F(HeadsInOpenCV, ConvTransposeOfOverlappingWindows) {
    struct Window {
        int64_t ins, outs, kernel, stride, extra;
    };
    for (const Window& w :
         {Window{64, 64, 3, 2, 1}, {32, 64, 3, 2, 0}, {64, 32, 3, 2, 1}, {32, 64, 5, 1, 0}}) {
        SCOPED_TRACE(w.kernel);
        const int64_t pad = w.kernel / 2;
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int wide =
                g.node("Conv", {x, g.constant(m.random({w.ins, SmallExport::kDim, 1, 1}, 0.3f))});
            const int y = g.node("ConvTranspose",
                                 {wide, g.constant(m.random({w.ins, w.outs, w.kernel, w.kernel}, 0.1f)),
                                  g.constant(m.random({w.outs}, 1))});
            g.with("strides", Attribute::of(List<int64_t>{w.stride, w.stride}));
            g.with("pads", Attribute::of(List<int64_t>{pad, pad, pad, pad}));
            g.with("output_padding", Attribute::of(List<int64_t>{w.extra, w.extra}));
            return y;
        };
        const auto size = [&](int64_t from) { return (from - 1) * w.stride - 2 * pad + w.kernel + w.extra; };
        const List<Node> nodes =
            convert(head, {1, w.outs, size(SmallExport::kRows), size(SmallExport::kColumns)});
        const bool whole = w.extra == 1 || w.stride == 1;  // the output has the input's size times `stride`
        EXPECT_EQ(count(nodes, "MpmConvTranspose"), whole);
        EXPECT_EQ(count(nodes, "ConvTranspose"), !whole);
        EXPECT_EQ(count(nodes, "MpmConv"), 0);
    }
}

// If a model needs version 2 of the domain for another operator (here a ConvTranspose whose kernel equals the
// stride), large transposes become MpmTranspose. A transpose that only moves axes of size 1 is then removed.
// Other models keep Transpose.
TEST_F(HeadsInOpenCV, TransposesOfLargeMaps) {
    for (const int64_t side : {4, 5}) {
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int window = g.constant(m.random({SmallExport::kDim, SmallExport::kDim, side, side}, 0.3f));
            const int large = g.node("ConvTranspose", {x, window});
            g.with("strides", Attribute::of(List<int64_t>{4, 4}));
            const int rows = withInts(g, "Transpose", large, "perm", {0, 2, 3, 1});
            const int moved = withInts(g, "Transpose", g.node("Sigmoid", {rows}), "perm", {1, 0, 2, 3});
            return withInts(g, "Transpose", g.node("Sigmoid", {moved}), "perm", {3, 1, 0, 2});
        };
        const auto size = [&](int64_t from) { return (from - 1) * 4 + side; };
        const List<Node> nodes =
            convert(head, {SmallExport::kDim, 1, size(SmallExport::kRows), size(SmallExport::kColumns)});
        const bool own = side == 4;
        EXPECT_EQ(count(nodes, "MpmTranspose"), own ? 2 : 0);
        EXPECT_EQ(count(nodes, "Transpose"),
                  own ? 1 : 4);  // includes the transpose of tokens to a map, before the head
    }
}

// Writes an activation of x in single operators.
int spelledActivation(SmallExport& m, const std::string& spelling, int x) {
    const auto node = [&](const char* op, const List<int>& inputs) { return m.builder().node(op, inputs); };
    const auto number = [&](float value) { return m.builder().constant(Tensor::floats({}, value)); };
    if (spelling == "silu") return node("Mul", {x, node("Sigmoid", {x})});
    if (spelling == "tanh") {
        const int cube = node("Mul", {number(0.044715f), node("Pow", {x, number(3)})});
        const int inner = node("Mul", {node("Add", {x, cube}), number(0.797884561f)});
        return node("Mul", {node("Mul", {number(0.5f), x}), node("Add", {node("Tanh", {inner}), number(1)})});
    }
    if (spelling == "half precision") {
        const int curve = node("Erf", {node("Mul", {x, number(0.70703125f)})});
        return node("Mul", {node("Mul", {x, node("Add", {number(1), curve})}), number(0.5f)});
    }
    const int curve = node("Erf", {node("Div", {x, number(std::sqrt(2.f))})});
    const int gelu = node("Mul", {x, node("Mul", {node("Add", {curve, number(1)}), number(0.5f)})});
    return spelling == "with a residual" ? node("Add", {gelu, x}) : gelu;
}

// Writes the upscaling of a head: transposed convolution, activation and a norm of the channels.
int upscaling(SmallExport& m, const std::string& spelling, int x) {
    GraphBuilder& b = m.builder();
    const int wide = b.node("ConvTranspose", {x, b.constant(m.random({SmallExport::kDim, 6, 2, 2}, 0.3f))});
    b.with("strides", Attribute::of(List<int64_t>{2, 2}));
    const int last = b.node("Transpose", {spelledActivation(m, spelling, wide)});
    b.with("perm", Attribute::of(List<int64_t>{0, 2, 3, 1}));
    const int normal =
        b.node("LayerNormalization", {last, b.constant(m.random({6}, 1)), b.constant(m.random({6}, 1))});
    b.with("epsilon", Attribute::of(1e-6f));
    const int first = b.node("Transpose", {normal});
    b.with("perm", Attribute::of(List<int64_t>{0, 3, 1, 2}));
    return first;
}

TEST_F(HeadsInOpenCV, ActivationsAndNormsAreJoined) {
    const Shape pixels{1, 6, 2 * SmallExport::kRows, 2 * SmallExport::kColumns};
    for (const std::string spelling : {"erf", "half precision", "tanh", "silu", "with a residual"}) {
        SCOPED_TRACE(spelling);
        const List<Node> nodes =
            convert([&](SmallExport& m, int x) { return upscaling(m, spelling, x); }, pixels);
        EXPECT_EQ(count(nodes, "Transpose"), 1);  // the transpose of tokens to a map
        EXPECT_EQ(count(nodes, "MpmLayerNorm"), 1);
        EXPECT_EQ(count(nodes, "MpmFunction"),
                  spelling == "with a residual" || spelling == "half precision" ? 1 : 0);
        const auto convolution = std::find_if(nodes.begin(), nodes.end(),
                                              [](const Node& n) { return n.op == "MpmConvTranspose"; });
        ASSERT_NE(convolution, nodes.end());
        const bool apart = spelling != "erf" && spelling != "tanh";
        EXPECT_EQ(convolution->getString("activation", "none"), apart                ? "none"
                                                                : spelling == "tanh" ? "gelu_tanh"
                                                                                     : "gelu");
    }
}

}  // namespace
