// Kinds of blocks: the converter must recognise each, and keep what the export computes.
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "small_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;
using models::Form;

using Block = std::function<int(SmallExport& model, int x)>;

cv::Mat matOf(const Tensor& t) {
    return cv::Mat(1, static_cast<int>(t.size()), CV_32F, const_cast<float*>(t.f().data())).clone();
}

class Blocks : public testing::Test {
protected:
    std::string write(const Block& before, const Block& block) {
        SmallExport model(1);
        int x = before(model, model.embed());
        for (int k = 0; k < 4; ++k)
            x = block(model, x);
        model.finish(x);
        const std::string path = folder / "export.onnx";
        models::writeModel(model.graph(), path);
        return path;
    }

    static cv::Mat evaluated(const std::string& path) {
        const cv::Mat image = SmallExport::image(1);
        Tensor x = Tensor::floats({1, image.size[1], image.size[2], image.size[3]});
        std::copy_n(image.ptr<float>(), image.total(), x.writeF().data());
        return matOf(models::evaluate(models::readModel(path), {x})[0]);
    }

    static cv::Mat forward(const std::string& path, const std::vector<int>& schedule) {
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        encoder(net).setSchedule(schedule);
        net.setInput(SmallExport::image(1));
        cv::Mat out = net.forward().clone();
        EXPECT_EQ(encoder(net).report().images[0].tokens.back() < 48, !schedule.empty());
        return out.reshape(1, 1);
    }

    static void expectClose(const cv::Mat& a, const cv::Mat& b) {
        ASSERT_EQ(a.total(), b.total());
        EXPECT_LT(cv::norm(a, b, cv::NORM_INF), 1e-4 * cv::norm(b, cv::NORM_INF));
    }

    /// Converts an export to both forms and checks their outputs, also after a second conversion. Returns the
    /// encoder's node.
    Node convert(const Block& before, const Block& block, int version = 2) {
        const std::string in = write(before, block), out = folder / "fused.onnx",
                          again = folder / "again.onnx", layers = folder / "layers.onnx";
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        models::convertModel(in, out, options);
        const cv::Mat expected = evaluated(in);
        expectClose(forward(out, {}), expected);
        models::convertModel(out, again, options);
        EXPECT_EQ(cv::norm(forward(out, {2}), forward(again, {2}), cv::NORM_INF), 0);
        options.form = Form::Layers;
        models::convertModel(in, layers, options);
        expectClose(evaluated(layers), expected);
        const models::Graph graph = models::readModel(out);
        EXPECT_EQ(models::domainVersion(graph), version);
        for (const Node& node : graph.nodes)
            if (node.op == "MpmEncoder") return node;
        ADD_FAILURE() << "no encoder";
        return {};
    }

    TempFolder folder;
};

int nothing(SmallExport&, int x) {
    return x;
}

TEST_F(Blocks, RmsNormInEverySpelling) {
    for (int spelling = 0; spelling < SmallExport::kRmsSpellings; ++spelling) {
        SCOPED_TRACE(spelling);
        const auto block = [&](SmallExport& m, int x) {
            const int middle = m.builder().node("Add", {x, m.attention(m.rmsNorm(x, spelling))});
            return m.builder().node("Add", {middle, m.swiGlu(m.rmsNorm(middle, spelling))});
        };
        const auto before = [&](SmallExport& m, int x) { return m.rmsNorm(x, spelling); };
        const Node encoder = convert(spelling % 2 ? Block(before) : Block(nothing), block);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
        EXPECT_EQ(encoder.getString("norm", ""), "rms");
        EXPECT_EQ(encoder.getString("final_norm", ""), "layer");
        const models::Inspection found = models::inspectModel(folder / "fused.onnx");
        EXPECT_EQ(found.found.norm, "RMSNorm, epsilon 1e-06");
        EXPECT_EQ(found.found.activation, "silu, gated");
    }
}

TEST_F(Blocks, NormsOfTwoKindsAreRejected) {
    const std::string in = write(nothing, [](SmallExport& m, int x) {
        const int middle = m.builder().node("Add", {x, m.attention(m.rmsNorm(x))});
        return m.builder().node("Add", {middle, m.mlp(m.norm(middle))});
    });
    try {
        models::convertModel(in, folder / "out.onnx", {});
        ADD_FAILURE() << "converted";
    } catch (const models::Refusal& refusal) {
        EXPECT_NE(std::string(refusal.what()).find("RMSNorm, epsilon 1e-06; LayerNorm"), std::string::npos)
            << refusal.what();
    }
}

// Adds x, attention and MLP in every order, with a shared norm and with two norms.
TEST_F(Blocks, ParallelInEveryOrder) {
    for (const bool twoNorms : {false, true}) {
        for (int order = 0; order < 4; ++order) {
            SCOPED_TRACE(order);
            const auto block = [&](SmallExport& m, int x) {
                const auto sum = [&](int a, int b) { return m.builder().node("Add", {a, b}); };
                const int first = m.norm(x), second = twoNorms ? m.norm(x) : first;
                const int attention = m.attention(first), mlp = m.mlp(second);
                if (order == 0) return sum(sum(x, attention), mlp);
                if (order == 1) return sum(sum(mlp, x), attention);
                if (order == 2) return sum(x, sum(attention, mlp));
                return sum(sum(mlp, attention), x);
            };
            const Node encoder = convert(nothing, block);
            EXPECT_EQ(encoder.getInt("blocks", 0), 4);
            EXPECT_EQ(encoder.getInt("parallel", 0), 1);
            EXPECT_EQ(encoder.outputs.size(), 1u);
        }
    }
}

// Computes x + scale * (attention + mlp), as timm's ParallelScalingBlock does.
TEST_F(Blocks, ParallelWithOneScaleForBoth) {
    for (const bool scaleFirst : {false, true}) {
        const auto block = [&](SmallExport& m, int x) {
            const int y = m.norm(x), sum = m.builder().node("Add", {m.attention(y), m.mlp(y)});
            const int scale = m.builder().constant(m.random({SmallExport::kDim}, 1.5f));
            const int scaled = m.builder().node(
                "Mul", scaleFirst ? models::List<int>{scale, sum} : models::List<int>{sum, scale});
            return m.builder().node("Add", {x, scaled});
        };
        const Node encoder = convert(nothing, block);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
        EXPECT_EQ(encoder.getInt("parallel", 0), 1);
    }
}

// A single product gives hidden values, queries, keys and values. The bias of the hidden values is added
// after the Split, as in timm's ViT with parallel blocks.
TEST_F(Blocks, HiddenBiasBehindASplit) {
    constexpr int kDim = SmallExport::kDim, kHidden = SmallExport::kHidden;
    for (int spelling = 0; spelling < 4; ++spelling) {
        SCOPED_TRACE(spelling);
        const auto block = [&](SmallExport& m, int x) {
            models::GraphBuilder& g = m.builder();
            const int y = m.norm(x), weight = g.constant(m.random({kDim, kHidden + 3 * kDim}, 0.3f));
            const int product = g.node("MatMul", {y, weight});
            const auto part = [&](int64_t begin, int64_t end) {
                return g.node("Slice", {product, g.ints({begin}), g.ints({end}), g.ints({-1})});
            };
            const int hidden = part(0, kHidden), bias = g.constant(m.random({kHidden}, 0.5f));
            int shifted = spelling == 1   ? g.node("Add", {bias, hidden})
                          : spelling == 2 ? g.node("Sub", {hidden, bias})
                                          : g.node("Add", {hidden, bias});
            if (spelling == 3) shifted = g.node("Mul", {shifted, g.constant(m.random({kHidden}, 1.5f))});
            const auto of = [&](int64_t k) { return part(kHidden + k * kDim, kHidden + (k + 1) * kDim); };
            const int attention = m.attend(of(0), of(1), of(2));
            const int mlp = m.linear(g.node("Gelu", {shifted}), kHidden, kDim);
            return g.node("Add", {x, g.node("Add", {attention, mlp})});
        };
        const Node encoder = convert(nothing, block);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
        EXPECT_EQ(encoder.getInt("parallel", 0), 1);
        EXPECT_EQ(encoder.getString("activation", "gelu"), "gelu");
    }
}

// A bias that differs between tokens is not the bias of a linear layer, so the block must be rejected.
TEST_F(Blocks, HiddenBiasOfEachTokenIsRejected) {
    const std::string in = write(nothing, [](SmallExport& m, int x) {
        const int middle = m.builder().node("Add", {x, m.attention(m.norm(x))});
        const int hidden = m.linear(m.norm(middle), SmallExport::kDim, SmallExport::kHidden);
        const int bias = m.builder().constant(m.random({1, m.tokens(), SmallExport::kHidden}, 1));
        const int active = m.builder().node("Relu", {m.builder().node("Add", {hidden, bias})});
        return m.builder().node("Add", {middle, m.linear(active, SmallExport::kHidden, SmallExport::kDim)});
    });
    EXPECT_THROW(models::convertModel(in, folder / "out.onnx", {}), models::Refusal);
}

// Experts are parallel linear layers. If constants select or weigh the experts, and the results are added or
// joined, the experts become a single linear layer.
TEST_F(Blocks, JoinedLinearLayersAreOne) {
    constexpr int kDim = SmallExport::kDim, kHidden = SmallExport::kHidden, kShared = 24;
    for (int spelling = 0; spelling < 5; ++spelling) {
        SCOPED_TRACE(spelling);
        const auto block = [&](SmallExport& m, int x) {
            models::GraphBuilder& g = m.builder();
            const int middle = g.node("Add", {x, m.attention(m.norm(x))});
            const int active = g.node("Relu", {m.linear(m.norm(middle), kDim, kHidden)});
            const int width = spelling == 2 ? kDim : kDim - kShared;
            int experts = g.constant(Tensor::floats({1, m.tokens(), width}));
            for (int k = 0; k < 3; ++k) {
                const float share = spelling == 0 ? float(k == 1) : 0.2f + 0.3f * static_cast<float>(k);
                const int factor = g.constant(Tensor::floats({1, 1, 1}, share));
                const auto reshaped = [&](int value, const models::List<int64_t>& shape) {
                    return g.node("Reshape", {value, g.ints(shape)});
                };
                // In the Gemm form of ONNX Runtime and onnxsim, each layer reads a separate Reshape.
                const int result =
                    spelling == 4
                        ? reshaped(m.linear(reshaped(active, {m.tokens(), kHidden}), kHidden, width),
                                   {1, m.tokens(), width})
                        : m.linear(active, kHidden, width);
                const int part =
                    spelling == 3 ? g.node("Div", {result, factor}) : g.node("Mul", {factor, result});
                experts = g.node(spelling == 3 ? "Sub" : "Add", {experts, part});
            }
            if (spelling == 2) return g.node("Add", {middle, experts});
            int all = g.node("Concat", {m.linear(active, kHidden, kShared), experts});
            g.with("axis", models::Attribute::of(int64_t{spelling == 1 ? 2 : -1}));
            if (spelling == 1) all = g.node("Mul", {all, g.constant(m.random({kDim}, 1))});
            return g.node("Add", {all, middle});
        };
        const Node encoder = convert(nothing, block, 1);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
    }
}

// If layers apply to different tokens, they cannot become a single linear layer.
TEST_F(Blocks, ExpertsThatDifferBetweenTokensAreRejected) {
    const std::string in = write(nothing, [](SmallExport& m, int x) {
        models::GraphBuilder& g = m.builder();
        constexpr int kDim = SmallExport::kDim, kHidden = SmallExport::kHidden;
        const int middle = g.node("Add", {x, m.attention(m.norm(x))});
        const int active = g.node("Relu", {m.linear(m.norm(middle), kDim, kHidden)});
        const int one = m.linear(active, kHidden, kDim), other = m.linear(active, kHidden, kDim);
        const int share = g.constant(m.random({1, m.tokens(), 1}, 1));
        return g.node("Add", {middle, g.node("Add", {one, g.node("Mul", {other, share})})});
    });
    EXPECT_THROW(models::convertModel(in, folder / "out.onnx", {}), models::Refusal);
}

// ONNX Runtime folds the transposes of [tokens, batch, heads, size] into the product.
TEST_F(Blocks, AttentionOfTransposedBatches) {
    for (const bool turned : {false, true}) {
        const auto block = [&](SmallExport& m, int x) {
            models::GraphBuilder& g = m.builder();
            constexpr int kDim = SmallExport::kDim, kHeads = SmallExport::kHeads;
            const int y = m.norm(x);
            const auto heads = [&](bool last) {
                const int split = g.node(
                    "Reshape", {m.linear(y, kDim, kDim), g.ints({m.tokens(), 1, kHeads, kDim / kHeads})});
                if (!last) return split;
                const int moved = g.node("Transpose", {split});
                g.with("perm", models::Attribute::of(models::List<int64_t>{3, 1, 2, 0}));
                return moved;
            };
            const auto set = [&](const char* name) { g.with(name, models::Attribute::of(int64_t{1})); };
            const int scores = g.node("FusedMatMul", {heads(turned), heads(false)}, "com.microsoft");
            for (const char* name : {"transBatchA", "transBatchB", "transB"})
                set(name);
            if (turned) set("transA");
            g.with("alpha", models::Attribute::of(0.25f));
            const int weights = g.node("Softmax", {scores});
            g.with("axis", models::Attribute::of(int64_t{-1}));
            const int mixed = g.node("FusedMatMul", {weights, heads(false)}, "com.microsoft");
            set("transBatchB");
            const int rows = g.node("Transpose", {mixed});
            g.with("perm", models::Attribute::of(models::List<int64_t>{0, 2, 1, 3}));
            const int joined = g.node("Reshape", {rows, g.ints({1, m.tokens(), kDim})});
            const int middle = g.node("Add", {x, m.linear(joined, kDim, kDim)});
            return g.node("Add", {middle, m.mlp(m.norm(middle))});
        };
        const Node encoder = convert(nothing, block, 1);
        EXPECT_EQ(encoder.getInt("blocks", 0), 4);
    }
}

TEST_F(Blocks, ABiasOfKeysBeforeAndAfterTheScale) {
    for (int spelling = 0; spelling < 3; ++spelling) {
        SCOPED_TRACE(spelling);
        const auto biased = [&](SmallExport& m, int x) {
            models::GraphBuilder& g = m.builder();
            const int bias = g.constant(m.random({1, 1, 1, m.tokens()}, 2));
            m.changeScores([&g, bias, spelling](int scores) {
                int sum = g.node("Add", {scores, bias});
                if (spelling > 0) sum = g.node("Mul", {sum, g.number(0.5f)});
                return spelling > 1 ? g.node("Add", {bias, sum}) : sum;
            });
            return x;
        };
        // The form `layers` has no bias of keys, so only `fused` is tested.
        const std::string in = write(biased, [](SmallExport& m, int x) { return m.block(x); });
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        models::convertModel(in, folder / "fused.onnx", options);
        expectClose(forward(folder / "fused.onnx", {}), evaluated(in));
    }
}

// ONNX Runtime writes the Transpose of the tokens after the first nodes of the first norm.
TEST_F(Blocks, AMeanBeforeTheTranspose) {
    bool fused = false;
    const auto before = [&](SmallExport& m, int x) {
        models::GraphBuilder& g = m.builder();
        const auto turned = [&](int value) {
            const int y = g.node("Transpose", {value});
            g.with("perm", models::Attribute::of(models::List<int64_t>{0, 2, 1}));
            return y;
        };
        const auto mean = [&](int value, int64_t axis) {
            const int y = g.node("ReduceMean", {value});
            g.with("axes", models::Attribute::of(models::List<int64_t>{axis}));
            return y;
        };
        const int columns = g.node("Relu", {turned(x)}), tokens = turned(columns);
        const int centred = turned(g.node("Sub", {columns, mean(columns, 1)}));
        const int variance = mean(g.node("Mul", {centred, centred}), -1);
        const int root = g.node("Sqrt", {g.node("Add", {variance, g.number(1e-6f)})});
        const int weight = g.constant(m.random({SmallExport::kDim}, 1.5f));
        int scaled = g.node("Mul", {g.node("Div", {centred, root}), weight});
        if (fused) {
            scaled = g.node("SimplifiedLayerNormalization", {centred, weight});
            g.with("epsilon", models::Attribute::of(1e-6f)).with("axis", models::Attribute::of(int64_t{-1}));
        }
        const int normed = g.node("Add", {scaled, g.constant(m.random({SmallExport::kDim}, 0.1f))});
        const int middle = g.node("Add", {tokens, m.attention(normed)});
        return g.node("Add", {middle, m.mlp(m.norm(middle))});
    };
    const auto block = [](SmallExport& m, int x) { return m.block(x); };
    for (const bool norm : {false, true}) {
        fused = norm;
        const Node encoder = convert(before, block, 1);
        EXPECT_EQ(encoder.getInt("blocks", 0), 5);
    }
}

// Every block has an output. The previous block's tokens must not be mistaken for inner values of a block.
TEST_F(Blocks, ParallelWithTaps) {
    SmallExport model(1);
    int x = model.embed();
    for (int k = 0; k < 4; ++k) {
        const int y = model.norm(x);
        x = model.builder().node("Add", {x, model.builder().node("Add", {model.attention(y), model.mlp(y)})});
        model.builder().output(x, "tap" + std::to_string(k), {1, model.tokens(), SmallExport::kDim});
    }
    const std::string in = folder / "taps.onnx", out = folder / "converted.onnx";
    models::writeModel(model.graph(), in);
    models::convertModel(in, out, {});
    models::List<int64_t> taps;
    for (const Node& node : models::readModel(out).nodes)
        if (node.op == "MpmEncoder") taps = node.getInts("taps");
    EXPECT_EQ(taps, (models::List<int64_t>{0, 1, 2, 3}));
}

}  // namespace
