// Tests special forms that exporters and optimisers write, such as scalar inputs, fused operators and
// sequences. Also tests why models are rejected.
#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/graph_builder.hpp"
#include "models/onnx/passes/passes.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using models::Attribute;
using models::GraphBuilder;
using models::Shape;
using models::Tensor;

constexpr const char* kRuntime = "com.microsoft";

Tensor numbers(const Shape& shape, int seed) {
    Tensor t(models::Type::Float, shape);
    t.allocate();
    cv::RNG rng(seed);
    for (int64_t k = 0; k < t.size(); ++k)
        t.writeF()[k] = rng.uniform(-2.f, 2.f);
    return t;
}

// Writes a model, reads it back and evaluates it.
std::vector<Tensor> outputsOf(const GraphBuilder& builder, const Tensor& input) {
    const test::TempFolder folder;
    const std::string path = folder / "model.onnx";
    models::writeModel(builder.graph(), path);
    return models::evaluate(models::readModel(path), {input});
}

using Build = std::function<void(GraphBuilder& builder, int x)>;

// Expects that both graphs compute the same values from x [2, 3, 4].
void expectEqual(const Build& fused, const Build& plain) {
    const Shape shape{2, 3, 4};
    std::vector<std::vector<Tensor>> results;
    for (const Build& build : {fused, plain}) {
        GraphBuilder builder(18);
        build(builder, builder.input("x", shape));
        results.push_back(outputsOf(builder, numbers(shape, 1)));
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (size_t k = 0; k < results[0].size(); ++k) {
        ASSERT_EQ(results[0][k].shape(), results[1][k].shape());
        for (int64_t i = 0; i < results[0][k].size(); ++i)
            EXPECT_NEAR(results[0][k].f()[i], results[1][k].f()[i], 1e-5) << "element " << i;
    }
}

TEST(Optimised, BiasGeluIsASumAndAGelu) {
    expectEqual(
        [](GraphBuilder& g, int x) {
            g.output(g.node("BiasGelu", {x, g.constant(numbers({4}, 2))}, kRuntime), "y", {2, 3, 4});
        },
        [](GraphBuilder& g, int x) {
            g.output(g.node("Gelu", {g.node("Add", {x, g.constant(numbers({4}, 2))})}), "y", {2, 3, 4});
        });
}

TEST(Optimised, FusedMatMulTransposesAndScales) {
    for (const bool transposed : {false, true}) {
        expectEqual(
            [&](GraphBuilder& g, int x) {
                const int weight = g.constant(numbers(transposed ? Shape{5, 4} : Shape{4, 5}, 3));
                const int y = g.node("FusedMatMul", {x, weight}, kRuntime);
                g.with("alpha", Attribute::of(0.25f)).with("transB", Attribute::of(int64_t{transposed}));
                g.output(y, "y", {2, 3, 5});
            },
            [&](GraphBuilder& g, int x) {
                int weight = g.constant(numbers(transposed ? Shape{5, 4} : Shape{4, 5}, 3));
                if (transposed) {
                    weight = g.node("Transpose", {weight});
                    g.with("perm", Attribute::of(std::vector<int64_t>{1, 0}));
                }
                g.output(g.node("Mul", {g.node("MatMul", {x, weight}), g.number(0.25f)}), "y", {2, 3, 5});
            });
    }
}

TEST(Optimised, SkipLayerNormalizationIsTwoSumsAndANorm) {
    const auto parameters = [](GraphBuilder& g) {
        return std::vector<int>{g.constant(numbers({2, 3, 4}, 4)), g.constant(numbers({4}, 5)),
                                g.constant(numbers({4}, 6)), g.constant(numbers({4}, 7))};
    };
    expectEqual(
        [&](GraphBuilder& g, int x) {
            const std::vector<int> p = parameters(g);
            const int y = g.node("SkipLayerNormalization", {x, p[0], p[1], p[2], p[3]}, kRuntime);
            g.with("epsilon", Attribute::of(1e-6f));
            g.output(y, "y", {2, 3, 4});
        },
        [&](GraphBuilder& g, int x) {
            const std::vector<int> p = parameters(g);
            const int sum = g.node("Add", {g.node("Add", {x, p[0]}), p[3]});
            const int y = g.node("LayerNormalization", {sum, p[1], p[2]});
            g.with("epsilon", Attribute::of(1e-6f));
            g.output(y, "y", {2, 3, 4});
        });
}

TEST(Optimised, SkipSimplifiedLayerNormalizationIsTwoSumsAndAnRmsNorm) {
    const auto parameters = [](GraphBuilder& g) {
        return std::vector<int>{g.constant(numbers({2, 3, 4}, 4)), g.constant(numbers({4}, 5)),
                                g.constant(numbers({4}, 6))};
    };
    expectEqual(
        [&](GraphBuilder& g, int x) {
            const std::vector<int> p = parameters(g);
            const int y = g.node("SkipSimplifiedLayerNormalization", {x, p[0], p[1], p[2]}, kRuntime);
            g.with("epsilon", Attribute::of(1e-6f));
            g.output(y, "y", {2, 3, 4});
        },
        [&](GraphBuilder& g, int x) {
            const std::vector<int> p = parameters(g);
            const int sum = g.node("Add", {g.node("Add", {x, p[0]}), p[2]});
            const int mean = g.node("ReduceMean", {g.node("Mul", {sum, sum}), g.ints({-1})});
            const int root = g.node("Sqrt", {g.node("Add", {mean, g.number(1e-6f)})});
            g.output(g.node("Mul", {g.node("Div", {sum, root}), p[1]}), "y", {2, 3, 4});
        });
}

TEST(Optimised, FusedConvIsAConvolutionASumAndAnActivation) {
    const auto conv = [](GraphBuilder& g, int x, const char* op, const char* domain, bool sum) {
        const int map = g.node("Unsqueeze", {x, g.ints({0})});
        models::List<int> inputs{map, g.constant(numbers({5, 2, 1, 1}, 2)), g.constant(numbers({5}, 3))};
        if (sum) inputs.push_back(g.constant(numbers({1, 5, 3, 4}, 4)));
        return g.node(op, inputs, domain);
    };
    for (const char* activation : {"Relu", "Sigmoid", "Tanh"}) {
        expectEqual(
            [&](GraphBuilder& g, int x) {
                const int y = conv(g, x, "FusedConv", kRuntime, true);
                g.with("activation", Attribute::of(std::string(activation)));
                g.output(y, "y", {1, 5, 3, 4});
            },
            [&](GraphBuilder& g, int x) {
                const int y = conv(g, x, "Conv", "", false);
                const int sum = g.node("Add", {y, g.constant(numbers({1, 5, 3, 4}, 4))});
                g.output(g.node(activation, {sum}), "y", {1, 5, 3, 4});
            });
    }
}

// ONNX Runtime's fused operator Attention includes the products for queries, keys and values. Here, x
// [2, 3, 4] has three tokens, and the operator has two heads.
TEST(Optimised, AttentionHoldsItsProducts) {
    for (const float scale : {0.f, 0.3f}) {
        expectEqual(
            [&](GraphBuilder& g, int x) {
                const int y =
                    g.node("Attention", {x, g.constant(numbers({4, 16}, 2)), g.constant(numbers({16}, 3))},
                           kRuntime);
                g.with("num_heads", Attribute::of(int64_t{2}))
                    .with("qkv_hidden_sizes", Attribute::of(models::List<int64_t>{4, 4, 8}));
                if (scale > 0) g.with("scale", Attribute::of(scale));
                g.output(y, "y", {2, 3, 8});
            },
            [&](GraphBuilder& g, int x) {
                const int all = g.node("Add", {g.node("MatMul", {x, g.constant(numbers({4, 16}, 2))}),
                                               g.constant(numbers({16}, 3))});
                models::List<int> heads;
                for (int64_t head : {0, 1}) {
                    const auto part = [&](int64_t first, int64_t size) {
                        return g.node("Slice", {all, g.ints({first + head * size}),
                                                g.ints({first + (head + 1) * size}), g.ints({2})});
                    };
                    const int keys = g.node("Transpose", {part(4, 2)});
                    g.with("perm", Attribute::of(models::List<int64_t>{0, 2, 1}));
                    const int factor = g.number(scale > 0 ? scale : 1 / std::sqrt(2.f));
                    const int weights =
                        g.node("Softmax", {g.node("Mul", {g.node("MatMul", {part(0, 2), keys}), factor})});
                    heads.push_back(g.node("MatMul", {weights, part(8, 4)}));
                }
                const int joined = g.node("Concat", heads);
                g.with("axis", Attribute::of(int64_t{2}));
                g.output(joined, "y", {2, 3, 8});
            });
    }
}

// Compares Selu, Celu and Softsign with their formulas.
TEST(Spellings, ActivationsAreTheirFormulas) {
    using Formula = std::function<int(GraphBuilder&, int x)>;
    const auto negative = [](GraphBuilder& g, int x, float slope, float inner) {
        const int grown = g.node("Sub", {g.node("Exp", {g.node("Mul", {x, g.number(inner)})}), g.number(1)});
        return g.node("Mul", {g.node("Min", {grown, g.number(0)}), g.number(slope)});
    };
    const auto positive = [](GraphBuilder& g, int x) { return g.node("Max", {x, g.number(0)}); };
    const std::map<std::string, Formula> formulas{
        {"Celu",
         [&](GraphBuilder& g, int x) {
             return g.node("Add", {positive(g, x), negative(g, x, 1, 1)});
         }},
        {"Selu",
         [&](GraphBuilder& g, int x) {
             const int sum = g.node("Add", {positive(g, x), negative(g, x, 1.67326319f, 1)});
             return g.node("Mul", {sum, g.number(1.05070102f)});
         }},
        {"Softsign", [](GraphBuilder& g, int x) {
             return g.node("Div", {x, g.node("Add", {g.node("Abs", {x}), g.number(1)})});
         }}};
    for (const auto& [op, formula] : formulas) {
        SCOPED_TRACE(op);
        const std::string& name = op;
        const Formula& build = formula;
        expectEqual(
            [&](GraphBuilder& g, int x) {
                g.output(g.node(name, {x}), "y", {2, 3, 4});
            },
            [&](GraphBuilder& g, int x) {
                g.output(build(g, x), "y", {2, 3, 4});
            });
    }
}

// Norms are (x - mean) * (variance + epsilon) ^ -0.5, or (x - mean) / (variance + epsilon) ^ 0.5. Other
// powers are not norms.
TEST(Spellings, NormsByAnyRootBecomeOne) {
    for (const float power : {0.5f, -0.5f, 0.25f, -1.f}) {
        GraphBuilder g(17);
        const int x = g.input("x", {2, 3, 4});
        const auto mean = [&](int of) {
            const int value = g.node("ReduceMean", {of});
            g.with("axes", Attribute::of(models::List<int64_t>{-1}));
            return value;
        };
        const int centred = g.node("Sub", {x, mean(x)});
        const int variance = mean(g.node("Mul", {centred, centred}));
        const int root = g.node("Pow", {g.node("Add", {variance, g.number(1e-6f)}), g.number(power)});
        g.output(g.node(power < 0 ? "Mul" : "Div", {centred, root}), "y", {2, 3, 4});
        models::Graph graph = g.graph();
        models::normalise(graph, models::infer(graph, {numbers({2, 3, 4}, 1)}));
        const bool fused = graph.nodes.size() == 1 && graph.nodes[0].is("LayerNormalization");
        EXPECT_EQ(fused, std::abs(power) == 0.5f) << power;
    }
}

std::string reasonFor(const std::string& op, const std::string& domain, const Shape& input,
                      const models::ConvertOptions& options) {
    const test::TempFolder folder;
    GraphBuilder builder(18);
    const int x = builder.input("image", input);
    builder.output(builder.node(op, {x}, domain), "y", input);
    models::writeModel(builder.graph(), folder / "model.onnx");
    try {
        models::convertModel(folder / "model.onnx", folder / "out.onnx", options);
    } catch (const models::Refusal& refusal) {
        return refusal.what();
    }
    return "converted";
}

TEST(Reasons, ADynamicSizeDoesNotHideTheCause) {
    models::ConvertOptions withSize;
    withSize.size = {64, 64};
    for (const models::ConvertOptions& options : {models::ConvertOptions(), withSize}) {
        const std::string reason = reasonFor("Unheard", "", {1, 3, -1, -1}, options);
        EXPECT_NE(reason.find("Unheard"), std::string::npos) << reason;
    }
}

TEST(Reasons, QuantisedAndOptimisedModelsGetAdvice) {
    const Shape image{1, 3, 64, 64};
    const auto advises = [&](const std::string& op, const std::string& domain, const std::string& word) {
        const std::string reason = reasonFor(op, domain, image, {});
        EXPECT_NE(reason.find(word), std::string::npos) << reason;
    };
    advises("DynamicQuantizeLinear", "", "--precision i8");
    advises("DequantizeLinear", "", "--precision i8");
    advises("MatMulNBits", kRuntime, "--precision i8");
    advises("MultiHeadAttention", kRuntime, "original export");
    advises("Conv", "com.microsoft.nchwc", "original export");
    advises("NonZero", "", "CTS");
    advises("NonMaxSuppression", "", "without that step");
}

class DynamoExports : public testing::TestWithParam<const char*> {};

TEST_P(DynamoExports, ConvertToWhatPyTorchComputed) {
    const std::string folder = test::sharedDir() + "/fixtures/dynamo/" + GetParam();
    if (!test::fileExists(folder + "/model.onnx")) GTEST_SKIP() << folder << " is not here";
    const test::TempFolder scratch;
    const std::string path = scratch / "converted.onnx";
    models::ConvertOptions options;
    options.blocks = std::vector<int>{};
    const models::Conversion conversion = models::convertModel(folder + "/model.onnx", path, options);
    EXPECT_LT(conversion.error, 1e-5);
    std::vector<cv::String> names;
    for (const models::Port& port : models::readModel(path).outputs)
        names.push_back(port.name);
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    net.setInput(test::readNpy(folder + "/input.npy").mat());
    std::vector<cv::Mat> outputs;
    net.forward(outputs, names);
    for (size_t k = 0; k < outputs.size(); ++k) {
        const test::Npy file =
            test::readNpy(folder + (k == 0 ? "/output.npy" : "/output" + std::to_string(k) + ".npy"));
        const cv::Mat expected = file.mat().reshape(1, 1);
        ASSERT_EQ(outputs[k].total(), expected.total());
        EXPECT_LT(cv::norm(outputs[k].reshape(1, 1), expected, cv::NORM_INF),
                  1e-4 * cv::norm(expected, cv::NORM_INF));
    }
}

INSTANTIATE_TEST_SUITE_P(Real, DynamoExports,
                         testing::Values("dy_eomt_reg4", "hf_dinov3_dyn",
                                         "t26_timm_vit_tiny_patch16_224_224_noopt"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
