// Compares convolutions of random shapes, in all precisions, with sums in f64.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/conv_cases.hpp"
#include "mpm_layer/cpu/column_products.hpp"

namespace {

using namespace mpm::test::conv;
using mpm::Precision;

TEST(Convolution, IsTheSumOfItsProducts) {
    std::mt19937 random(1);
    for (int n = 0; n < 4000; ++n) {
        const Case c(randomShape(random), random);
        ConvEnd end;
        if (n % 3) end.bias = c.bias.data();
        const Precision precision = precisions()[n % precisions().size()];
        const bool rectified = n % 5 == 0;
        const Values y = convolve(c, precision, end, rectified);
        const int pixels = c.shape.pixels(), width = c.shape.x.outputs();
        for (int check = 0; check < 60; ++check) {
            const size_t at = check < 3 ? y.size() - 1 - check % y.size() : random() % y.size();
            const int image = static_cast<int>(at / pixels / c.shape.outs),
                      out = static_cast<int>(at / pixels % c.shape.outs);
            const int p = static_cast<int>(at % pixels);
            const Sum sum = sumOf(c, image, out, p / width, p % width, rectified);
            const double expected = sum.value + (end.bias ? end.bias[out] : 0);
            ASSERT_NEAR(y[at], expected, boundOf(c, out, sum, precision))
                << textOf(c.shape) << "at " << at << " in precision " << static_cast<int>(precision);
        }
    }
}

TEST(Convolution, EndsWithActivationAndResidual) {
    std::mt19937 random(2);
    for (int n = 0; n < 200; ++n) {
        const Case c(randomShape(random), random);
        const Values residual = randomValues(c.outputs(), random);
        for (const Precision precision : precisions()) {
            ConvEnd end;
            end.bias = c.bias.data();
            const Values plain = convolve(c, precision, end);
            end.residual = residual.data();
            for (const bool last : {false, true}) {
                end.residualLast = last;
                end.activation = Activation::Relu;
                const Values y = convolve(c, precision, end);
                for (size_t k = 0; k < y.size(); ++k) {
                    const float expected =
                        last ? std::max(0.f, plain[k]) + residual[k] : std::max(0.f, plain[k] + residual[k]);
                    ASSERT_NEAR(y[k], expected, 1e-5 * (10 + std::abs(expected))) << textOf(c.shape);
                }
            }
        }
    }
}

// The bits of an image's result depend neither on the other images of the batch nor on the number of threads.
TEST(Convolution, BitsDependNeitherOnBatchNorThreads) {
    std::mt19937 random(3);
    const int threads = cv::getNumThreads();
    for (int n = 0; n < 100; ++n) {
        ConvShape shape = randomShape(random);
        shape.images = 3;
        if (n % 4 == 0) shape.outs = shape.groups * 300;
        const Case c(shape, random);
        Case one = c;
        one.shape.images = 1;
        const size_t image = c.images.size() / 3;
        one.images.assign(c.images.begin() + image, c.images.begin() + 2 * image);
        for (const Precision precision : precisions()) {
            cv::setNumThreads(threads);
            const Values all = convolve(c, precision, {});
            for (const int count : {1, 2, 7}) {
                cv::setNumThreads(count);
                const Values alone = convolve(one, precision, {});
                ASSERT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + alone.size()))
                    << textOf(shape) << count;
            }
        }
    }
    cv::setNumThreads(threads);
}

TEST(Convolution, KeepsNan) {
    std::mt19937 random(4);
    for (const int groups : {1, 6}) {
        for (const Precision precision : precisions()) {
            for (const float value :
                 {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
                Case c({1, 6, 12, groups, {9, 3, 1, 1, 1, 1}, {9, 3, 1, 1, 1, 1}}, random);
                c.images[3 * 9 + 4] = value;  // row 3, column 4 of the first channel
                ConvEnd end;
                end.activation = Activation::Relu;
                const Values y = convolve(c, precision, end, true);
                for (int p : {2 * 9 + 3, 3 * 9 + 4, 4 * 9 + 5}) {
                    if (std::isnan(value))
                        EXPECT_TRUE(std::isnan(y[p])) << groups;
                    else
                        EXPECT_FALSE(std::isfinite(y[p]) && y[p] != 0) << groups;
                }
                EXPECT_TRUE(precision == Precision::I8 || std::isfinite(y[6 * 9 + 4]));
            }
        }
    }
}

// Weights stay in f32 if rounding to int8 would lose too much, or if a group has few channels.
TEST(Convolution, KeepsWeightsThatLoseTooMuch) {
    std::mt19937 random(6);
    const ConvShape shape{1, 32, 16, 1, {4, 3}, {4, 3}};
    Case c(shape, random);
    const auto precisionOf = [&](Precision wanted) {
        return mpm::cpu::ConvWeights(c.weights.data(), c.shape, wanted).precision();
    };
    EXPECT_EQ(precisionOf(Precision::I8), Precision::I8);
    EXPECT_EQ(precisionOf(Precision::F32), Precision::F32);
    for (int out = 0; out < shape.outs; ++out)
        c.weights[static_cast<size_t>(out) * shape.depth()] = 500;
    EXPECT_EQ(precisionOf(Precision::I8), Precision::F32);
    c = Case({1, 16, 16, 8, {4, 3}, {4, 3}}, random);
    EXPECT_EQ(precisionOf(Precision::I8), Precision::F32);
}

// The largest 3x3 convolutions of published heads have 3,840 channels: 3 * 3 * 3,840 = 34,560 terms in a sum.
TEST(Convolution, MultipliesDeepKernelsInInt8) {
    std::mt19937 random(8);
    const Case c({1, 3840, 8, 1, {3, 3, 1, 1, 1, 1}, {3, 3, 1, 1, 1, 1}}, random);
    const mpm::cpu::ConvWeights weights(c.weights.data(), c.shape, Precision::I8);
    EXPECT_EQ(weights.precision(), Precision::I8);
    const Values y = convolve(c, Precision::I8, {});
    for (int at = 0; at < static_cast<int>(y.size()); ++at) {
        const Sum sum = sumOf(c, 0, at / 9, at % 9 / 3, at % 3, false);
        ASSERT_NEAR(y[at], sum.value, boundOf(c, at / 9, sum, Precision::I8)) << at;
    }
}

// In int8, each tile is scaled by its largest value, so very large or small values stay finite.
TEST(Convolution, ExtremeValuesStayInRange) {
    for (const Precision precision : precisions()) {
        for (const float size : {1e-40f, 1e-30f, 1e-10f, 1e10f, 1e30f}) {
            std::mt19937 random(5);
            Case c({1, 8, 16, 1, {20, 3, 1, 1, 1, 1}, {20, 3, 1, 1, 1, 1}}, random);
            const Values plain = convolve(c, precision, {});
            for (float& v : c.images)
                v *= size;
            const Values y = convolve(c, precision, {});
            for (size_t k = 0; k < y.size(); ++k) {
                ASSERT_TRUE(std::isfinite(y[k]));
                ASSERT_TRUE(size < 1e-38f || std::abs(y[k] / size - plain[k]) < 0.5) << size;
            }
        }
    }
}

// Multiplies columns as transposed convolutions do, in the precision of the left operand's rows.
TEST(ColumnProducts, AreInThePrecisionOfTheirRows) {
    std::mt19937 random(7);
    for (int n = 0; n < 300; ++n) {
        const ConvShape shape{1,      pick(random, 1, 150),     pick(random, 1, 40), 1,
                              {1, 1}, {pick(random, 1, 200), 1}};
        const Case c(shape, random);
        const int columns = shape.x.size, depth = shape.channels;
        for (const Precision precision : precisions()) {
            mpm::kernels::Buffer memory;
            mpm::cpu::LeftRows left(memory, precision, shape.outs, depth, std::nullopt,
                                    mpm::kernels::Finer::Right);
            for (int r = 0; r < shape.outs; ++r)
                left.fill(r, [&](float* to) {
                    std::copy_n(c.weights.data() + static_cast<size_t>(r) * depth, depth, to);
                });
            const mpm::cpu::ColumnOperand right{c.images.data(), static_cast<size_t>(columns), depth,
                                                columns};
            for (int first = 0; first < columns; first += mpm::cpu::tileColumns()) {
                mpm::cpu::multiplyTile(
                    left, right, first, 1, [&](const mpm::cpu::ProductPiece& piece, const float* products) {
                        for (int k = 0; k < piece.rows * piece.columns; ++k) {
                            const int row = piece.row + k / piece.columns;
                            const Sum sum = sumOf(c, 0, row, 0, piece.column + k % piece.columns, false);
                            ASSERT_NEAR(products[k], sum.value, boundOf(c, row, sum, precision))
                                << textOf(shape);
                        }
                    });
            }
        }
    }
}

cv::Mat run(cv::dnn::LayerParams params, const std::vector<cv::Mat>& inputs,
            const std::vector<cv::Mat>& constants) {
    mpm::registerLayers();
    params.blobs = constants;
    cv::dnn::Net net;
    const int layer = net.addLayer("layer", "mpm.MpmConv", params);
    std::vector<cv::String> names;
    for (size_t k = 0; k < inputs.size(); ++k) {
        names.push_back("x" + std::to_string(k));
        net.connect(0, static_cast<int>(k), layer, static_cast<int>(k));
    }
    net.setInputsNames(names);
    for (size_t k = 0; k < inputs.size(); ++k)
        net.setInput(inputs[k], names[k]);
    return net.forward().clone();
}

cv::Mat matOf(const std::vector<int>& sizes, int seed) {
    cv::Mat m(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    cv::RNG(seed).fill(m, cv::RNG::NORMAL, 0, 1);
    return m;
}

cv::dnn::DictValue numbers(const std::vector<int>& values) {
    return cv::dnn::DictValue::arrayInt(values.data(), static_cast<int>(values.size()));
}

// MpmConv with all attributes gives the result of OpenCV's Convolution layer.
TEST(ConvLayer, HasItsAttributes) {
    const cv::Mat x = matOf({2, 6, 17, 23}, 1), weight = matOf({8, 3, 3, 5}, 2), bias = matOf({8, 1}, 3);
    cv::dnn::LayerParams own, other;
    own.set("stride", numbers({2, 1}));
    own.set("padding", numbers({1, 2, 1, 2}));
    own.set("dilation", numbers({1, 2}));
    own.set("groups", 2);
    other.set("kernel_size", numbers({3, 5}));
    other.set("stride", numbers({2, 1}));
    other.set("pad", numbers({1, 2}));
    other.set("dilation", numbers({1, 2}));
    other.set("group", 2);
    other.set("num_output", 8);
    other.set("bias_term", true);
    other.blobs = {weight, bias};
    cv::dnn::Net net;
    net.addLayerToPrev("conv", "Convolution", other);
    net.setInput(x);
    const cv::Mat expected = net.forward().clone(), y = run(own, {x}, {weight, bias});
    ASSERT_TRUE(y.size == expected.size);
    EXPECT_LT(cv::norm(y.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF), 1e-4);
    const cv::Mat residual = matOf(std::vector<int>(y.size.p, y.size.p + 4), 4);
    own.set("residual", "last");
    own.set("activation", "silu");
    const cv::Mat z = run(own, {x, residual}, {weight, bias});
    for (size_t k = 0; k < z.total(); ++k) {
        const float v = expected.ptr<float>()[k];
        ASSERT_NEAR(z.ptr<float>()[k], v / (1 + std::exp(-v)) + residual.ptr<float>()[k], 1e-4);
    }
}

// With the attribute size, MpmConv gives the result of MpmResize followed by MpmConv.
TEST(ConvLayer, EnlargesItsInput) {
    const cv::Mat x = matOf({2, 6, 5, 9}, 1), weight = matOf({8, 6, 3, 3}, 2), bias = matOf({8, 1}, 3);
    for (const int alignCorners : {0, 1}) {
        cv::dnn::LayerParams own;
        own.set("padding", numbers({1, 1, 1, 1}));
        own.set("activation", "gelu");
        cv::dnn::LayerParams resize, plain = own;
        for (cv::dnn::LayerParams* params : {&own, &resize}) {
            params->set("size", numbers({13, 18}));
            params->set("align_corners", alignCorners);
        }
        plain.blobs = {weight, bias};
        cv::dnn::Net net;
        net.addLayerToPrev("resize", "mpm.MpmResize", resize);
        net.addLayerToPrev("conv", "mpm.MpmConv", plain);
        net.setInput(x);
        const cv::Mat expected = net.forward().clone(), y = run(own, {x}, {weight, bias});
        ASSERT_TRUE(y.size == expected.size);
        EXPECT_LT(cv::norm(y.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF), 1e-4);
        EXPECT_GT(cv::norm(y.reshape(1, 1), cv::NORM_INF), 1);
    }
    for (const char* name : {"stride", "groups", "input_activation"}) {
        cv::dnn::LayerParams params;
        params.set("size", numbers({13, 18}));
        if (std::string(name) == "stride") params.set(name, numbers({2, 2}));
        if (std::string(name) == "groups") params.set(name, 2);
        if (std::string(name) == "input_activation") params.set(name, cv::String("relu"));
        EXPECT_THROW(run(params, {x}, {weight}), cv::Exception) << name;
    }
    for (const auto& size : {numbers({0, 3}), numbers({3}), numbers({-1, 4}), numbers({2147483647, 4}),
                             numbers({65000, 65000})}) {
        cv::dnn::LayerParams params;
        params.set("size", size);
        EXPECT_THROW(run(params, {x}, {weight}), cv::Exception);
    }
}

// If the size of the images changes, the layer may have to pack its weights again.
TEST(ConvLayer, ChangesItsSize) {
    mpm::registerLayers();
    const cv::Mat weight = matOf({32, 32, 3, 3}, 2), small = matOf({1, 32, 8, 8}, 3),
                  large = matOf({1, 32, 40, 40}, 4);
    cv::dnn::LayerParams params;
    params.blobs = {weight};
    cv::dnn::Net net;
    net.addLayerToPrev("layer", "mpm.MpmConv", params);
    for (const cv::Mat& x : {large, small, large, small}) {
        net.setInput(x);
        const cv::Mat y = net.forward().clone();
        EXPECT_EQ(cv::norm(y.reshape(1, 1), run({}, {x}, {weight}).reshape(1, 1), cv::NORM_INF), 0)
            << x.size[2];
    }
}

TEST(ConvLayer, RejectsWhatDoesNotFit) {
    const cv::Mat x = matOf({1, 4, 6, 6}, 1), weight = matOf({8, 4, 3, 3}, 2);
    const auto with = [](const char* name, auto value) {
        cv::dnn::LayerParams params;
        params.set(name, value);
        return params;
    };
    EXPECT_NO_THROW(run({}, {x}, {weight}));
    for (const auto& params :
         {with("stride", numbers({0, 1})), with("stride", numbers({1})),
          with("padding", numbers({3, 0, 0, 0})), with("padding", numbers({1, 1})),
          with("padding", numbers({-1, 0, 0, 0})), with("dilation", numbers({65535, 65535})),
          with("dilation", numbers({0, 0})), with("groups", numbers({2})), with("groups", numbers({0})),
          with("groups", numbers({-1}))}) {
        EXPECT_THROW(run(params, {x}, {weight}), cv::Exception);
    }
    for (const char* name : {"activation", "input_activation", "residual", "precision"})
        EXPECT_THROW(run(with(name, cv::String("sine")), {x}, {weight}), cv::Exception) << name;
    EXPECT_THROW(run({}, {x}, {}), cv::Exception);
    EXPECT_THROW(run({}, {x}, {weight, matOf({7, 1}, 3)}), cv::Exception);
    EXPECT_THROW(run({}, {x}, {matOf({8, 3, 3, 3}, 3)}), cv::Exception);
    EXPECT_THROW(run({}, {x}, {matOf({8, 4, 7, 3}, 3)}), cv::Exception);
    EXPECT_THROW(run(with("residual", cv::String("last")), {x, matOf({1, 8, 4, 5}, 3)}, {weight}),
                 cv::Exception);
}

}  // namespace
