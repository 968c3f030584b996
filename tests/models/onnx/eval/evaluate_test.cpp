// Compares the evaluator with references that PyTorch computed, and with plain loops.
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/ir/graph_builder.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"

namespace {

using namespace mpm;

class EvaluatesFixture : public testing::TestWithParam<const char*> {};

TEST_P(EvaluatesFixture, AsPyTorchDid) {
    const std::string base = mpm::test::sharedDir() + "/fixtures/" + GetParam();
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    const models::Graph graph = models::readModel(base + ".onnx");
    const test::Npy input = test::readNpy(base + ".input.npy");
    const test::Npy expected = test::readNpy(base + ".snone.output.npy");
    const models::Shape shape(input.shape.begin(), input.shape.end());
    const auto outputs = models::evaluate(graph, {models::Tensor::floats(shape, input.floats)});
    ASSERT_EQ(outputs.size(), 1u);
    ASSERT_EQ(outputs[0].shape(), models::Shape(expected.shape.begin(), expected.shape.end()));
    double worst = 0, largest = 0;
    for (size_t k = 0; k < expected.floats.size(); ++k) {
        worst = std::max<double>(worst, std::abs(outputs[0].f()[k] - expected.floats[k]));
        largest = std::max<double>(largest, std::abs(expected.floats[k]));
    }
    EXPECT_LT(worst, 2e-5 * largest);
}

INSTANTIATE_TEST_SUITE_P(Models, EvaluatesFixture,
                         testing::Values("segmenter_mask", "segmenter_linear", "segmenter_deit_dynamic",
                                         "timm_vit", "timm_deit3_layerscale", "timm_dinov2",
                                         "timm_eva02_rotary"),
                         [](const auto& model) { return std::string(model.param); });

using models::Attribute;
using models::GraphBuilder;
using models::List;
using models::Shape;
using models::Tensor;

Tensor randomTensor(const Shape& shape, int seed, float scale) {
    Tensor t = Tensor::floats(shape);
    cv::RNG rng(seed);
    for (int64_t k = 0; k < t.size(); ++k)
        t.writeF()[k] = rng.uniform(-scale, scale);
    return t;
}

std::vector<float> softmaxOf(const Tensor& x, int64_t axis, const std::string& kind = "Softmax") {
    GraphBuilder g(17);
    const int y = g.node(kind, {g.constant(x)});
    g.with("axis", Attribute::of(axis));
    g.output(y, "y", x.shape());
    return models::evaluate(g.graph(), {})[0].toFloats();
}

TEST(Evaluates, SoftmaxOfRowsOfAnyLength) {
    for (const float scale : {1.f, 60.f, 1e30f}) {
        for (int64_t length = 1; length < 40; ++length) {
            Tensor x = randomTensor({3, length}, static_cast<int>(length), scale);
            if (length > 2) x.writeF()[1] = -INFINITY;
            Tensor columns = Tensor::floats({length, 3});
            for (int64_t k = 0; k < 3 * length; ++k)
                columns.writeF()[k % length * 3 + k / length] = x.f()[k];
            const auto found = softmaxOf(x, 1), across = softmaxOf(columns, 0),
                       logarithms = softmaxOf(columns, 0, "LogSoftmax");
            for (int64_t row = 0; row < 3; ++row) {
                const float* from = x.f().data() + row * length;
                const double top = *std::max_element(from, from + length);
                double sum = 0;
                for (int64_t k = 0; k < length; ++k)
                    sum += std::exp(from[k] - top);
                for (int64_t k = 0; k < length; ++k) {
                    SCOPED_TRACE(std::to_string(length) + " " + std::to_string(scale));
                    EXPECT_NEAR(found[row * length + k], std::exp(from[k] - top) / sum, 3e-7);
                    EXPECT_EQ(across[k * 3 + row], found[row * length + k]);
                    const double expected = from[k] - top - std::log(sum);
                    if (std::isinf(expected))
                        EXPECT_EQ(logarithms[k * 3 + row], expected);
                    else
                        EXPECT_NEAR(logarithms[k * 3 + row], expected, 1e-6 * scale + 1e-6);
                }
            }
        }
    }
    const float nan = std::nanf("");
    for (const float value : softmaxOf(Tensor::floats({5}, std::vector<float>{1, 2, nan, 3, 4}), 0))
        EXPECT_TRUE(std::isnan(value));
}

// Tests values of all sizes, and counts that are not multiples of a vector's width.
TEST(Evaluates, ErrorFunctionGeluAndSigmoid) {
    for (const int64_t count : {1, 3, 16, 37, 5003}) {
        List<float> values{0};
        for (int64_t k = 1; k < count; ++k)
            values.push_back(
                static_cast<float>(12.0 * static_cast<double>(k) / static_cast<double>(count) - 6));
        if (count > 16)
            values[7] = INFINITY, values[9] = -INFINITY, values[11] = std::nanf(""), values[13] = 1e-30f,
            values[15] = -80;
        GraphBuilder g(20);
        const int x = g.constant(Tensor::floats({count}, values));
        g.output(g.node("Erf", {x}), "erf", {count});
        g.output(g.node("Gelu", {x}), "gelu", {count});
        g.output(g.node("Sigmoid", {x}), "sigmoid", {count});
        const auto found = models::evaluate(g.graph(), {});
        for (int64_t k = 0; k < count; ++k) {
            const double value = values[k], gelu = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0))),
                         sigmoid = 1 / (1 + std::exp(-value));
            SCOPED_TRACE(value);
            if (std::isnan(value)) {
                EXPECT_TRUE(std::isnan(found[0].f()[k]) && std::isnan(found[1].f()[k]));
                EXPECT_TRUE(std::isnan(found[2].f()[k]));
                continue;
            }
            EXPECT_NEAR(found[2].f()[k], sigmoid, 3e-7 * sigmoid);
            EXPECT_NEAR(found[0].f()[k], std::erf(value), std::min(1e-7, 2e-7 * std::abs(value)));
            if (std::isfinite(value)) {
                EXPECT_NEAR(found[1].f()[k], gelu, 3e-7 * std::abs(value));
            }
        }
    }
}

// Compares convolutions with plain loops. Groups have few or many outputs, and windows lie partly or
// completely in the padding.
TEST(Evaluates, ConvolutionsOfAnyGroup) {
    const int64_t height = 7, width = 9, channels = 2;
    for (const auto& [groups, each, kernel, stride, dilation, padding] :
         std::vector<std::array<int64_t, 6>>{{3, 1, 3, 1, 1, 1},
                                             {2, 3, 3, 2, 1, 2},
                                             {2, 5, 3, 2, 2, 4},
                                             {1, 1, 1, 3, 1, 0},
                                             {1, 2, 2, 1, 6, 7}}) {
        SCOPED_TRACE(std::to_string(groups) + " groups of " + std::to_string(each));
        const Tensor x = randomTensor({2, groups * channels, height, width}, 1, 1),
                     weight = randomTensor({groups * each, channels, kernel, kernel}, 2, 1),
                     bias = randomTensor({groups * each}, 3, 1);
        const auto resultsOf = [&, s = stride, reach = (kernel - 1) * dilation, p = padding](int64_t pixels) {
            return (pixels + 2 * p - reach - 1) / s + 1;
        };
        const Shape shape{2, groups * each, resultsOf(height), resultsOf(width)};
        GraphBuilder g(17);
        const int y = g.node("Conv", {g.constant(x), g.constant(weight), g.constant(bias)});
        g.with("group", Attribute::of(groups)).with("strides", Attribute::of(List<int64_t>(2, stride)));
        g.with("dilations", Attribute::of(List<int64_t>(2, dilation)));
        g.with("pads", Attribute::of(List<int64_t>(4, padding)));
        g.output(y, "y", shape);
        const Tensor found = models::evaluate(g.graph(), {})[0];
        ASSERT_EQ(found.shape(), shape);
        for (int64_t k = 0; k < found.size(); ++k) {
            const int64_t ox = k % shape[3], oy = k / shape[3] % shape[2],
                          out = k / shape[3] / shape[2] % shape[1],
                          image = k / shape[3] / shape[2] / shape[1];
            double expected = bias.f()[out];
            for (int64_t tap = 0; tap < channels * kernel * kernel; ++tap) {
                const int64_t px = ox * stride + tap % kernel * dilation - padding,
                              py = oy * stride + tap / kernel % kernel * dilation - padding,
                              channel = out / each * channels + tap / kernel / kernel;
                if (px < 0 || px >= width || py < 0 || py >= height) continue;
                expected += double{weight.f()[out * channels * kernel * kernel + tap]} *
                            x.f()[((image * groups * channels + channel) * height + py) * width + px];
            }
            EXPECT_NEAR(found.f()[k], expected, 1e-5);
        }
    }
}

// Compares every equation with a single sum over all letters.
TEST(Evaluates, EinsumOfAnyLetters) {
    const std::map<char, int64_t> extents{{'b', 2}, {'q', 3}, {'c', 5}, {'h', 4}, {'w', 7}};
    const auto shapeOf = [&](const std::string& letters) {
        Shape shape;
        for (char letter : letters)
            shape.push_back(extents.at(letter));
        return shape;
    };
    const std::string equations[][3] = {
        {"bqc", "bchw", "bqhw"}, {"bqc", "bchw", "bhwq"}, {"q", "c", "qc"},   {"qc", "cq", ""},
        {"bqc", "bhc", "bqh"},   {"qc", "hw", "wq"},      {"bq", "bq", "bq"}, {"bqc", "q", "cb"},
        {"bchw", "bqc", "bqhw"}, {"qc", "chw", "qhw"},    {"bc", "b", "bc"}};
    for (const auto& [a, b, out] : equations) {
        SCOPED_TRACE(a + "," + b + "->" + out);
        const Tensor x = randomTensor(shapeOf(a), 1, 1), z = randomTensor(shapeOf(b), 2, 1);
        GraphBuilder g(17);
        const int y = g.node("Einsum", {g.constant(x), g.constant(z)});
        g.with("equation", Attribute::of(a + "," + b + "->" + out));
        g.output(y, "y", shapeOf(out));
        const std::vector<float> found = models::evaluate(g.graph(), {})[0].toFloats();
        std::vector<double> expected(found.size());
        std::map<char, int64_t> at;
        const auto placeIn = [&](const std::string& letters) {
            int64_t place = 0;
            for (char letter : letters)
                place = place * extents.at(letter) + at[letter];
            return place;
        };
        for (int64_t k = 0; k < 2 * 3 * 5 * 4 * 7; ++k) {
            int64_t rest = k;
            bool counts = true;  // a letter that no operand has counts once, with index 0
            for (const auto& [letter, extent] : extents) {
                at[letter] = rest % extent;
                counts &= at[letter] == 0 || (a + b).find(letter) != std::string::npos;
                rest /= extent;
            }
            if (counts) expected[placeIn(out)] += double{x.f()[placeIn(a)]} * z.f()[placeIn(b)];
        }
        for (size_t k = 0; k < found.size(); ++k)
            EXPECT_NEAR(found[k], expected[k], 1e-5);
    }
}

// A letter must have the same extent in both operands, and occur only once in each operand. Otherwise the sum
// would read beyond the operands.
TEST(Evaluates, EinsumRejectsLettersThatDoNotFit) {
    const auto evaluated = [](const std::string& equation, const Shape& a, const Shape& b) {
        GraphBuilder g(17);
        const int y =
            g.node("Einsum", {g.constant(randomTensor(a, 1, 1)), g.constant(randomTensor(b, 2, 1))});
        g.with("equation", Attribute::of(equation));
        g.output(y, "y", {});
        return models::evaluate(g.graph(), {});
    };
    EXPECT_NO_THROW(evaluated("ab,bc->ac", {2, 3}, {3, 4}));
    EXPECT_ANY_THROW(evaluated("ab,bc->ac", {1, 1}, {100000, 4}));
    EXPECT_ANY_THROW(evaluated("aa,b->ab", {2, 5}, {3}));
    EXPECT_ANY_THROW(evaluated("a,b->aa", {2}, {3}));
    EXPECT_ANY_THROW(evaluated("a,b->ac", {2}, {3}));
}

TEST(Evaluates, RejectsAttributesThatItDoesNotKnow) {
    const auto evaluated = [](const std::string& op, const std::string& name, const Attribute& value) {
        GraphBuilder g(19);
        const List<int> inputs = op == "Pad" ? List<int>{g.constant(randomTensor({3}, 1, 1)), g.ints({1, 1})}
                                             : List<int>{g.constant(randomTensor({3}, 1, 1))};
        const int y = g.node(op, inputs);
        g.with(name, value);
        g.output(y, "y", {});
        return models::evaluate(g.graph(), {});
    };
    EXPECT_NO_THROW(evaluated("Pad", "mode", Attribute::of(std::string("edge"))));
    EXPECT_ANY_THROW(evaluated("Pad", "mode", Attribute::of(std::string("wrap"))));
    EXPECT_NO_THROW(evaluated("ArgMax", "axis", Attribute::of(int64_t{0})));
    EXPECT_ANY_THROW(evaluated("ArgMax", "select_last_index", Attribute::of(int64_t{1})));
}

std::vector<float> stretched(int opset, const std::string& kind, const std::string& mode) {
    GraphBuilder g(opset);
    const int x = g.constant(Tensor::floats({1, 1, 1, 3}, {0, 4, 8})),
              scales = g.constant(Tensor::floats({4}, {1, 1, 1, 1.5f}));
    const int y = opset < 11 ? g.node(kind, {x, scales}) : g.node(kind, {x, models::kAbsent, scales});
    g.with("mode", Attribute::of(mode));
    g.output(y, "y", {1, 1, 1, 4});
    return models::evaluate(g.graph(), {}).at(0).toFloats();
}

// The coordinate of output k is k / 1.5 before opset 11, and (k + 0.5) / 1.5 - 0.5 from opset 11 on.
TEST(Evaluates, ResizeHasTheCoordinatesOfItsOpset) {
    for (const auto& [opset, kind] : {std::pair(9, "Upsample"), std::pair(10, "Resize")}) {
        EXPECT_EQ(stretched(opset, kind, "nearest"), (std::vector<float>{0, 0, 4, 8})) << opset;
        const std::vector<float> linear = stretched(opset, kind, "linear"), wanted{0, 8 / 3.f, 16 / 3.f, 8};
        for (size_t k = 0; k < 4; ++k)
            EXPECT_NEAR(linear[k], wanted[k], 1e-5) << opset;
    }
    const std::vector<float> linear = stretched(13, "Resize", "linear"), wanted{0, 2, 14 / 3.f, 22 / 3.f};
    for (size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(linear[k], wanted[k], 1e-5);
}

// Returns the shape of the output `map` of an encoder with windows on a grid of 6 x 7, or the error.
std::string mapOf(int64_t special, int64_t columns, const Shape& rows) {
    GraphBuilder g(17);
    g.node("MpmEncoder", {g.input("x", rows)}, "mpm");
    g.with("special_tokens", Attribute::of(special)).with("map_output", Attribute::of(int64_t{1}));
    g.with("window", Attribute::of(List<int64_t>{4, columns}));
    g.with("grid", Attribute::of(List<int64_t>{6, 7}));
    const int map = g.outputOf(1);
    g.integers(map, "map", {});
    const models::Inferred found = models::infer(g.graph(), {Tensor(models::Type::Float, rows)});
    if (found.problems.count(map) > 0) return found.problems.at(map);
    std::string shape;
    for (const int64_t side : found.values[map].shape())
        shape += std::to_string(side) + " ";
    return shape;
}

// Windows that are cut off at the edge of the grid also have special tokens.
TEST(Evaluates, MapsOfEncodersWithWindowsHaveAnEntryForEachImageToken) {
    for (const int64_t special : {0, 1, 2})
        EXPECT_EQ(mapOf(special, 3, {2, 2 * 3 * special + 6 * 7, 8}), "2 42 ") << special;
    EXPECT_NE(mapOf(1, 0, {2, 48, 8}).find("windows do not fit"), std::string::npos);
    EXPECT_NE(mapOf(9, 3, {2, 48, 8}).find("tokens do not fit"), std::string::npos);
}

}  // namespace
