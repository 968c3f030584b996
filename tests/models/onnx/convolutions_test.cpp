// Tests convolutions of a head that become MpmConv or MpmConvTranspose, and norms, activations and sums that
// become parts of these operators.
#include "heads_fixture.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

int convolution(SmallExport& m, int x, const Shape& weight, int64_t stride = 1) {
    GraphBuilder& g = m.builder();
    const int y =
        g.node("Conv", {x, g.constant(m.random(weight, 0.1f)), g.constant(m.random({weight[0]}, 1))});
    const int64_t pad = weight[2] / 2;
    g.with("pads", Attribute::of(List<int64_t>{pad, pad, pad, pad}));
    g.with("strides", Attribute::of(List<int64_t>{stride, stride}));
    return y;
}

// Adds a BatchNormalization with random statistics, as after training.
int trainedNorm(SmallExport& m, int x, int64_t channels) {
    GraphBuilder& g = m.builder();
    const auto near = [&](float value) {
        Tensor t = m.random({channels}, 0.3f);
        for (int64_t k = 0; k < t.size(); ++k)
            t.writeF()[k] = value + std::abs(t.f()[k]);
        return g.constant(t);
    };
    return g.node("BatchNormalization", {x, near(0.5f), near(-1), near(-1), near(0.7f)});
}

// A convolution becomes MpmConv only if its kernel, stride and channels are typical of heads, and if it needs
// many multiplications.
TEST_F(HeadsInOpenCV, LargeConvolutionsAreOurs) {
    for (const auto& [outs, kernel, stride, own] : {std::tuple(160, 3, 1, 1),
                                                    {16, 3, 1, 0},
                                                    {700, 3, 2, 1},
                                                    {1400, 1, 1, 1},
                                                    {700, 1, 2, 0},
                                                    {200, 2, 1, 0}}) {
        SCOPED_TRACE(cv::format("%d channels, kernel %d, stride %d", outs, kernel, stride));
        const auto head = [&, outs = outs, kernel = kernel, stride = stride](SmallExport& m, int x) {
            return convolution(m, x, {outs, SmallExport::kDim, kernel, kernel}, stride);
        };
        const auto size = [&, kernel = kernel, stride = stride](int64_t from) {
            return (from + kernel / 2 * 2 - kernel) / stride + 1;
        };
        const List<Node> nodes =
            convert(head, {1, outs, size(SmallExport::kRows), size(SmallExport::kColumns)});
        EXPECT_EQ(count(nodes, "MpmConv"), own);
        EXPECT_EQ(count(nodes, "Conv"), 1 - own);
    }
}

TEST(OwnConvolutions, GiveTheDomainVersion3) {
    models::Graph graph;
    graph.nodes.emplace_back();
    graph.nodes[0].op = "MpmConv";
    EXPECT_EQ(models::domainVersion(graph), 1);
    graph.nodes[0].domain = "mpm";
    EXPECT_EQ(models::domainVersion(graph), 3);
    graph.nodes[0].op = "MpmConvTranspose";
    EXPECT_EQ(models::domainVersion(graph), 2);
    graph.nodes[0].set("precision", std::string("f32"));
    EXPECT_EQ(models::domainVersion(graph), 3);
}

// If a graph selects places by scores, the converter limits the use of int8 in the graph's encoders.
TEST(OwnConvolutions, LimitInt8InDetectors) {
    const auto encoder = [](int64_t width, int64_t blocks, bool selects) {
        models::Graph graph;
        const int x = graph.addValue("x"), y = graph.addValue("y");
        const int weight = graph.addConstant("w", Tensor::floats({width, 3 * width}, 1));
        graph.add("MpmEncoder", {x, weight}, y, "mpm")
            .set("inputs", std::string("tokens 0.qkv.weight"))
            .set("blocks", blocks);
        if (selects) graph.add("MpmTopK", {y}, graph.addValue("z"), "mpm");
        models::joinConvolutions(graph);
        return graph.nodes.front();
    };
    EXPECT_EQ(encoder(64, 12, true).getInt("int8_from", 0), 3);
    EXPECT_EQ(encoder(64, 10, true).getInt("int8_from", 0), 3);
    EXPECT_EQ(encoder(64, 1, true).getInt("int8_from", 0), 1);
    EXPECT_FALSE(encoder(64, 12, true).has("int8"));
    EXPECT_EQ(encoder(63, 12, true).getInt("int8", 1), 0);
    EXPECT_FALSE(encoder(63, 12, true).has("int8_from"));
    EXPECT_FALSE(encoder(63, 12, false).has("int8"));
    EXPECT_FALSE(encoder(64, 12, false).has("int8_from"));
}

// If a large table of MpmEmbed begins with zeros, files of version 3 of the domain leave out these zeros. The
// reader adds them again.
TEST(OwnConvolutions, RowsOfZerosAreLeftOutOfFiles) {
    const TempFolder folder;
    for (const bool latest : {false, true}) {
        for (const int64_t zeros : {1000, 40000}) {
            models::Graph graph;
            graph.opset = 13;
            const int x = graph.addValue("x"), y = graph.addValue("y"), z = graph.addValue("z");
            Tensor table = Tensor::zeros(models::Type::Float, {zeros + 3, 4});
            for (int64_t k = zeros * 4; k < table.size(); ++k)
                table.writeF()[k] = static_cast<float>(k);
            graph.add("MpmEmbed", {x, graph.addConstant("table", table)}, y, "mpm").set("first", 1);
            graph.add("MpmFunction", {y}, z, "mpm").set("function", std::string("relu"));
            if (latest) {
                graph.add("MpmGatherRows", {y, y}, graph.addValue("w"), "mpm");
                graph.outputs.push_back(models::Port::of(graph.nodes.back().outputs[0], "w"));
            }
            graph.inputs.push_back(models::Port::of(x, "x"));
            graph.outputs.push_back(models::Port::of(z, "z"));
            graph.sort();
            models::writeModel(graph, folder / "in.onnx");
            const auto bytes = std::filesystem::file_size(folder / "in.onnx");
            EXPECT_EQ(bytes < 1000, latest && zeros > 1000) << bytes;
            const models::Graph again = models::readModel(folder / "in.onnx");
            EXPECT_FALSE(again.nodes[0].has("zeros"));
            EXPECT_EQ(again.constant(again.nodes[0].input(1)).toFloats(), table.toFloats());
        }
    }
}

// Batch norms, activations and sums become parts of MpmConv. The convolution that gives scores stays in f32.
TEST_F(HeadsInOpenCV, ConvolutionsTakeUpWhatIsAroundThem) {
    const Shape pixels{1, 160, SmallExport::kRows, SmallExport::kColumns};
    for (const std::string spelling : {"first", "silu", "last", "read twice"}) {
        SCOPED_TRACE(spelling);
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int wide = convolution(m, x, {160, SmallExport::kDim, 3, 3});
            const int inner = trainedNorm(m, convolution(m, g.node("Relu", {wide}), {160, 160, 3, 3}), 160);
            if (spelling == "read twice")
                return g.node("Add", {g.node("Relu", {inner}), g.node("Exp", {inner})});
            const int active = spelling == "first"  ? g.node("Relu", {g.node("Add", {wide, inner})})
                               : spelling == "silu" ? g.node("Mul", {g.node("Sigmoid", {inner}), inner})
                                                    : g.node("Add", {g.node("Relu", {inner}), wide});
            return g.node("Sigmoid", {convolution(m, active, {160, 160, 3, 3})});
        };
        const List<Node> nodes = convert(head, pixels);
        List<Node> own;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(own),
                     [](const Node& n) { return n.op == "MpmConv"; });
        for (const char* op : {"BatchNormalization", "Mul"})
            EXPECT_EQ(count(nodes, op), 0) << op;
        const bool twice = spelling == "read twice";
        ASSERT_EQ(own.size(), twice ? 2 : 3);
        EXPECT_EQ(count(nodes, "Relu"), twice ? 1 : 0);
        EXPECT_EQ(count(nodes, "Add"), twice ? 1 : 0);
        EXPECT_EQ(own[1].getString("activation", "none"), twice                ? "none"
                                                          : spelling == "silu" ? "silu"
                                                                               : "relu");
        EXPECT_EQ(own[1].getString("residual", "none"),
                  spelling == "first" || spelling == "last" ? spelling : "none");
        EXPECT_EQ(own[0].getString("precision", "encoder"), "encoder");
        EXPECT_EQ(own.back().getString("precision", "encoder"), "f32");
    }
}

// If a convolution reads an enlarged map, MpmConv multiplies before it enlarges, even if only some channels
// of the map are enlarged.
TEST_F(HeadsInOpenCV, ConvolutionsEnlargeLater) {
    constexpr int64_t kWide = 96, kRows = SmallExport::kRows * 2, kColumns = SmallExport::kColumns * 2;
    for (const std::string spelling :
         {"alone", "corners", "two", "with plain", "two plain", "narrow", "twice"}) {
        SCOPED_TRACE(spelling);
        const auto head = [&](SmallExport& m, int map) {
            GraphBuilder& g = m.builder();
            const auto larger = [&](int x) {
                const int none = models::kAbsent;
                const int y = g.node(
                    "Resize", {x, none, g.constant(Tensor::floats({4}, std::vector<float>{1, 1, 2, 2}))});
                g.with("mode", Attribute::of(std::string("linear")));
                if (spelling == "corners")
                    g.with("coordinate_transformation_mode", Attribute::of(std::string("align_corners")));
                return y;
            };
            const int64_t wide = spelling == "narrow" ? 48 : kWide;
            const auto branch = [&] {
                return larger(g.node("Relu", {convolution(m, map, {wide, SmallExport::kDim, 3, 3})}));
            };
            const auto plain = [&] { return g.node("Relu", {g.node("Neg", {branch()})}); };
            int64_t branches = 1;
            int x = branch();
            const auto joined = [&](const List<int>& parts) {
                branches = static_cast<int64_t>(parts.size());
                const int y = g.node("Concat", parts);
                g.with("axis", Attribute::of(int64_t{1}));
                return y;
            };
            if (spelling == "two") x = joined({x, branch()});
            if (spelling == "with plain") x = joined({plain(), x});
            if (spelling == "two plain") x = joined({plain(), x, branch(), plain()});
            const int y =
                g.node("Relu", {trainedNorm(m, convolution(m, x, {160, wide * branches, 3, 3}), 160)});
            return spelling == "twice" ? g.node("Add", {y, convolution(m, x, {160, wide, 1, 1})}) : y;
        };
        const List<Node> nodes = convert(head, {1, 160, kRows, kColumns});
        List<Node> enlarging;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(enlarging),
                     [](const Node& n) { return n.op == "MpmConv" && n.has("size"); });
        const std::map<std::string, int64_t> expected{
            {"two", 2}, {"two plain", 2}, {"narrow", 0}, {"twice", 2}},
            resized{{"with plain", 1}, {"two plain", 2}, {"narrow", 1}};
        EXPECT_EQ(static_cast<int64_t>(enlarging.size()),
                  expected.count(spelling) ? expected.at(spelling) : 1);
        EXPECT_EQ(count(nodes, "MpmResize"), resized.count(spelling) ? resized.at(spelling) : 0);
        EXPECT_EQ(count(nodes, "Concat"), spelling == "two plain" ? 1 : 0);
        for (const Node& node : enlarging)
            EXPECT_EQ(node.getInt("align_corners", 0), spelling == "corners" ? 1 : 0);
    }
}

// A sine embedding separates even and odd channels by slices with step 2. The converter replaces these slices
// by a transpose. Slices with step 5 stay.
TEST_F(HeadsInOpenCV, EveryOtherEntryIsTakenByATranspose) {
    for (const int64_t step : {2, 5}) {
        SCOPED_TRACE(step);
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int wide = convolution(m, x, {160, SmallExport::kDim, 3, 3});
            const int rows = withInts(g, "Transpose", wide, "perm", {0, 2, 3, 1});
            List<int> parts;
            for (int64_t k = 0; k < step; ++k) {
                const int part =
                    g.node("Slice", {rows, g.ints({k}), g.ints({160}), g.ints({3}), g.ints({step})});
                const int curve = g.node(k % 2 == 0 ? "Sin" : "Cos", {part});
                parts.push_back(g.node("Unsqueeze", {curve, g.ints({4})}));
            }
            const int together = g.node("Concat", parts);
            g.with("axis", Attribute::of(int64_t{4}));
            return g.node("Reshape", {together, g.ints({1, SmallExport::kRows, SmallExport::kColumns, 160})});
        };
        const List<Node> nodes = convert(head, {1, SmallExport::kRows, SmallExport::kColumns, 160});
        EXPECT_EQ(count(nodes, "MpmTranspose"), step == 2 ? 2 : 1);
    }
}

TEST_F(HeadsInOpenCV, SiluWithoutAConvolutionIsAFunction) {
    for (const int64_t kernel : {1, 3}) {  // OpenCV's convolution, or MpmConv
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int wide = convolution(m, x, {160, SmallExport::kDim, kernel, kernel});
            const int root = g.node("Sqrt", {g.node("Abs", {wide})});
            return g.node("Mul", {g.node("Sigmoid", {root}), root});
        };
        const List<Node> nodes = convert(head, {1, 160, SmallExport::kRows, SmallExport::kColumns});
        EXPECT_EQ(count(nodes, "Sigmoid"), kernel == 1);
    }
}

// Norms and activations become parts of MpmConvTranspose only in models that need version 3 of the domain.
TEST_F(HeadsInOpenCV, TransposedConvolutionsTakeUpWhatIsBehindThem) {
    for (const bool latest : {false, true}) {
        SCOPED_TRACE(latest);
        const auto upscaled = [](SmallExport& m, int x, const Shape& weight) {
            const int y =
                m.builder().node("ConvTranspose", {x, m.builder().constant(m.random(weight, 0.2f))});
            m.builder().with("strides", Attribute::of(List<int64_t>{2, 2}));
            return y;
        };
        const auto head = [&](SmallExport& m, int x) {
            const int64_t kernel = latest ? 3 : 1;  // with kernel 3, the convolution becomes MpmConv
            const int wide = convolution(m, x, {160, SmallExport::kDim, kernel, kernel});
            const int inner = trainedNorm(m, upscaled(m, wide, {160, 24, 2, 2}), 24);
            return upscaled(m, m.builder().node("Relu", {inner}), {24, 8, 2, 2});
        };
        const List<Node> nodes = convert(head, {1, 8, 4 * SmallExport::kRows, 4 * SmallExport::kColumns});
        EXPECT_EQ(count(nodes, "MpmConv"), latest);
        EXPECT_EQ(count(nodes, "BatchNormalization"), !latest);
        EXPECT_EQ(count(nodes, "Relu"), !latest);
        List<Node> own;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(own),
                     [](const Node& n) { return n.op == "MpmConvTranspose"; });
        ASSERT_EQ(own.size(), 2u);
        EXPECT_EQ(own[0].getString("activation", "none"), latest ? "relu" : "none");
        EXPECT_FALSE(own[0].has("precision"));
        EXPECT_EQ(own[1].getString("precision", "encoder"), latest ? "f32" : "encoder");
    }
}

// MpmConvTranspose allows kernels that overlap if padding makes the output's size a multiple of the input's
// size, as in ViTPose's head (kernel 4x4, stride 2). Other transposed convolutions with overlap stay.
TEST_F(HeadsInOpenCV, TransposedConvolutionsMayOverlap) {
    struct Case {
        int64_t kernel, padding, more;
        bool own;
    };
    for (const Case& one : {Case{4, 1, 0, true}, Case{3, 1, 1, true}, Case{4, 0, 0, false}}) {
        SCOPED_TRACE(one.kernel);
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int y =
                g.node("ConvTranspose",
                       {x, g.constant(m.random({SmallExport::kDim, 8, one.kernel, one.kernel}, 0.2f))});
            g.with("strides", Attribute::of(List<int64_t>{2, 2}));
            g.with("pads", Attribute::of(List<int64_t>(4, one.padding)));
            g.with("output_padding", Attribute::of(List<int64_t>(2, one.more)));
            return g.node("Relu", {trainedNorm(m, y, 8)});
        };
        const int64_t end = one.own ? 0 : 2;
        const List<Node> nodes =
            convert(head, {1, 8, 2 * SmallExport::kRows + end, 2 * SmallExport::kColumns + end});
        EXPECT_EQ(count(nodes, "MpmConvTranspose"), one.own);
        EXPECT_EQ(count(nodes, "ConvTranspose"), !one.own);
        EXPECT_EQ(count(nodes, "BatchNormalization"), !one.own);
        EXPECT_EQ(count(nodes, "Relu"), !one.own);
    }
}

// A block as in ConvNeXt transposes channels to the last axis for a norm and a linear layer, and back. The
// converter writes both operations without these transposes.
TEST_F(HeadsInOpenCV, ChannelsStayFirst) {
    for (const std::string spelling : {"a block", "read twice", "channels last"}) {
        SCOPED_TRACE(spelling);
        const int64_t dim = SmallExport::kDim;
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            const int last = withInts(g, "Transpose", x, "perm", {0, 2, 3, 1});
            const int wide = m.linear(m.norm(last), dim, dim);
            const int curve =
                g.node("Erf", {g.node("Div", {wide, g.constant(Tensor::floats({}, 1.41421356f))})});
            int active = g.node("Mul", {wide, g.node("Add", {curve, g.constant(Tensor::floats({}, 1))})});
            active = g.node("Mul", {active, g.constant(Tensor::floats({}, 0.5f))});
            if (spelling == "channels last") return g.node("Add", {active, last});
            const int first = withInts(g, "Transpose", active, "perm", {0, 3, 1, 2});
            const int y = g.node("Add", {first, x});
            if (spelling == "a block") return y;
            return g.node("Add", {y, withInts(g, "Transpose", wide, "perm", {0, 3, 1, 2})});
        };
        const Shape first{1, dim, SmallExport::kRows, SmallExport::kColumns};
        const bool joined = spelling == "a block";
        const List<Node> nodes =
            convert(head, spelling == "channels last" ? Shape{1, first[2], first[3], dim} : first);
        const auto own =
            std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "MpmConv"; });
        ASSERT_EQ(own != nodes.end(), joined);
        // The counts include the Transpose of tokens to a map, before the head.
        EXPECT_EQ(count(nodes, "Transpose"), joined ? 1 : spelling == "read twice" ? 4 : 2);
        if (!joined) continue;
        EXPECT_EQ(own->getString("activation", "none"), "gelu");
        EXPECT_EQ(own->getString("residual", "none"), "last");
        EXPECT_EQ(count(nodes, "MpmLinear"), 0);
    }
}

// Linear layers with many rows have the encoder's precision. Layers with few rows stay in f32, because the
// rows may be queries. The last layer stays in f32, because it gives the result.
TEST_F(HeadsInOpenCV, LinearLayersOfManyRowsFollowTheEncoder) {
    constexpr int64_t kWide = 160, kInner = 24, kOuts = 8;
    for (const bool many : {false, true}) {
        SCOPED_TRACE(many);
        const int64_t factor = many ? 4 : 1;
        const int64_t places = SmallExport::kRows * SmallExport::kColumns * factor * factor;
        const auto head = [&](SmallExport& m, int x) {
            GraphBuilder& g = m.builder();
            int y = convolution(m, x, {kWide, SmallExport::kDim, 3, 3});
            if (many) {
                y = g.node("ConvTranspose", {y, g.constant(m.random({kWide, kWide, 4, 4}, 0.1f))});
                g.with("strides", Attribute::of(List<int64_t>{4, 4}));
            }
            const auto rows = [&](int from) {
                const int flat = g.node("Reshape", {from, g.constant(Tensor::vector({1, kWide, places}))});
                return withInts(g, "Transpose", flat, "perm", {0, 2, 1});
            };
            const int first = g.node("Relu", {m.linear(rows(y), kWide, kInner)});
            const int second = m.linear(rows(y), kWide, kInner);
            return m.linear(g.node("Add", {first, second}), kInner, kOuts);
        };
        const List<Node> nodes = convert(head, {1, places, kOuts});
        List<Node> linear;
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(linear),
                     [](const Node& n) { return n.op == "MpmLinear"; });
        ASSERT_EQ(linear.size(), 3u);
        EXPECT_EQ(count(nodes, "Relu"), 0);
        EXPECT_EQ(linear[0].getString("activation", "none") == "relu",
                  linear[1].getString("activation", "none") == "none");
        for (int k = 0; k < 2; ++k)
            EXPECT_EQ(linear[k].getString("precision", "f32"), many ? "encoder" : "f32");
        EXPECT_FALSE(linear[2].has("precision"));
        // One Reshape replaces two equal Reshapes of the head. The other Reshape turns tokens into a map.
        EXPECT_EQ(count(nodes, "Reshape"), 2);
    }
}

}  // namespace
