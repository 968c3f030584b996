// Compares each operator around an encoder with a few lines of scalar code.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>
#include <opencv2/imgproc.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/small_layer_fixture.hpp"

namespace {

using mpm::test::difference;
using mpm::test::randomMat;
using mpm::test::run;

cv::dnn::LayerParams sizeParams(int rows, int columns, bool argmax = false) {
    cv::dnn::LayerParams params;
    const int size[] = {rows, columns};
    params.set("size", cv::dnn::DictValue::arrayInt(size, 2));
    params.set("argmax", argmax ? 1 : 0);
    return params;
}

TEST(SmallLayers, ResizeIsBilinearWithHalfPixels) {
    for (const cv::Size to :
         {cv::Size(160, 128), cv::Size(10, 8), cv::Size(37, 19), cv::Size(5, 4), cv::Size(1, 1)}) {
        const cv::Mat x = randomMat({2, 3, 8, 10}, 1);
        const cv::Mat y = run("MpmResize", sizeParams(to.height, to.width), x);
        for (int plane = 0; plane < 6; ++plane) {
            const cv::Mat from(8, 10, CV_32F, const_cast<float*>(x.ptr<float>()) + plane * 80);
            const cv::Mat found(to, CV_32F, const_cast<float*>(y.ptr<float>()) + plane * to.area());
            cv::Mat expected;
            cv::resize(from, expected, to, 0, 0, cv::INTER_LINEAR);
            EXPECT_LT(difference(found, expected), 1e-5) << to;
        }
    }
}

TEST(SmallLayers, ArgmaxPicksTheLowestOfEqualClasses) {
    const cv::Mat x = randomMat({2, 21, 6, 7}, 2);
    std::fill_n(const_cast<float*>(x.ptr<float>(0, 5)), 42, 9.f);
    std::fill_n(const_cast<float*>(x.ptr<float>(0, 3)), 42, 9.f);
    const cv::Mat scores = run("MpmResize", sizeParams(33, 45), x),
                  labels = run("MpmResize", sizeParams(33, 45, true), x);
    ASSERT_EQ(labels.total(), 2u * 33 * 45);
    for (int p = 0; p < 2 * 33 * 45; ++p) {
        const float* column = scores.ptr<float>() + p / (33 * 45) * 21 * 33 * 45 + p % (33 * 45);
        int best = 0;
        for (int c = 1; c < 21; ++c) {
            if (column[c * 33 * 45] > column[best * 33 * 45]) best = c;
        }
        const int found = labels.depth() == CV_32F
                              ? static_cast<int>(labels.ptr<float>()[p])
                              : static_cast<int>(reinterpret_cast<const std::int64_t*>(labels.data)[p]);
        ASSERT_EQ(found, best) << p;
    }
}

TEST(SmallLayers, LinearTakesAnyNumberOfRows) {
    for (int rows : {1, 3, 64, 131}) {
        const cv::Mat x = randomMat({1, rows, 19}, rows), w = randomMat({19, 23}, 6),
                      b = randomMat({1, 23}, 7);
        const cv::Mat y = run("MpmLinear", {}, x, {w, b});
        const cv::Mat expected = x.reshape(1, rows) * w + cv::repeat(b, rows, 1);
        EXPECT_LT(difference(y, expected), 1e-4);
        cv::dnn::LayerParams params;
        params.set("activation", cv::String("relu"));
        EXPECT_LT(difference(run("MpmLinear", params, x, {w, b}), cv::max(expected, 0)), 1e-4);
    }
}

TEST(SmallLayers, LayerNormNormalisesTheLastAxis) {
    const cv::Mat x = randomMat({2, 7, 19}, 8), w = randomMat({1, 19}, 9), b = randomMat({1, 19}, 10);
    cv::dnn::LayerParams params;
    params.set("epsilon", 1e-3f);
    const cv::Mat y = run("MpmLayerNorm", params, x, {w, b});
    for (int r = 0; r < 14; ++r) {
        const cv::Mat row = x.reshape(1, 14).row(r);
        cv::Scalar mean, deviation;
        cv::meanStdDev(row, mean, deviation);
        for (int c = 0; c < 19; ++c) {
            const double unit = (row.at<float>(c) - mean[0]) / std::sqrt(deviation[0] * deviation[0] + 1e-3);
            EXPECT_NEAR(y.reshape(1, 14).at<float>(r, c), unit * w.at<float>(c) + b.at<float>(c), 1e-5);
        }
    }
}

TEST(SmallLayers, LayerNormOfImagesNormalisesTheirChannels) {
    for (const auto& [channels, rows, columns] : {std::tuple(19, 1, 1), std::tuple(5, 40, 33)}) {
        for (const char* kind : {"layer", "rms"}) {
            const cv::Mat x = randomMat({2, channels, rows, columns}, 8), w = randomMat({1, channels}, 9),
                          b = randomMat({1, channels}, 10);
            cv::dnn::LayerParams params;
            params.set("epsilon", 1e-3f);
            params.set("norm", kind);
            // The norm over axis 1 must equal a norm over the last axis between two transposes.
            cv::Mat turned, back;
            cv::transposeND(x, {0, 2, 3, 1}, turned);
            cv::transposeND(run("MpmLayerNorm", params, turned, {w, b}), {0, 3, 1, 2}, back);
            params.set("axis", 1);
            const cv::Mat y = run("MpmLayerNorm", params, x, {w, b});
            EXPECT_EQ(y.size, x.size);
            EXPECT_LT(difference(y, back), 1e-5);
        }
    }
}

TEST(SmallLayers, RmsNormKeepsTheMean) {
    const cv::Mat x = randomMat({2, 7, 19}, 8), w = randomMat({1, 19}, 9);
    cv::dnn::LayerParams params;
    params.set("epsilon", 1e-3f);
    params.set("norm", "rms");
    const cv::Mat y = run("MpmLayerNorm", params, x, {w});
    for (int r = 0; r < 14; ++r) {
        const cv::Mat row = x.reshape(1, 14).row(r);
        const double root = std::sqrt(row.dot(row) / 19 + 1e-3);
        for (int c = 0; c < 19; ++c)
            EXPECT_NEAR(y.reshape(1, 14).at<float>(r, c), row.at<float>(c) / root * w.at<float>(c), 1e-5);
    }
}

// Six numbers: rows and columns of the window (the stride), of the kernel, and of the padding.
using Upscaling = std::array<int, 6>;

cv::dnn::LayerParams paramsOf(const Upscaling& one) {
    cv::dnn::LayerParams params;
    params.set("window", cv::dnn::DictValue::arrayInt(one.data(), 2));
    params.set("kernel", cv::dnn::DictValue::arrayInt(one.data() + 2, 2));
    params.set("padding", cv::dnn::DictValue::arrayInt(one.data() + 4, 2));
    return params;
}

cv::Mat upscaled(const Upscaling& one, const cv::Mat& x, const cv::Mat& w, const cv::Mat& b) {
    const int channels = b.cols, taps = one[2] * one[3], columns = x.size[3];
    const int sizes[] = {x.size[0], channels, x.size[2] * one[0], columns * one[1]};
    cv::Mat y(4, sizes, CV_64F, cv::Scalar(0));
    for (int k = 0; k < sizes[0] * channels * taps * x.size[2] * columns; ++k) {
        const int px = k % columns, py = k / columns % x.size[2], tap = k / columns / x.size[2] % taps,
                  plane = k / columns / x.size[2] / taps, image = plane / channels, out = plane % channels;
        const int toY = py * one[0] + tap / one[3] - one[4], toX = px * one[1] + tap % one[3] - one[5];
        if (toX < 0 || toY < 0 || toX >= sizes[3] || toY >= sizes[2]) continue;
        for (int c = 0; c < x.size[1]; ++c)
            y.ptr<double>(image, out, toY)[toX] +=
                w.at<float>(out * taps + tap, c) * double{x.ptr<float>(image, c, py)[px]};
    }
    for (int k = 0; k < static_cast<int>(y.total()); ++k)
        y.ptr<double>()[k] += b.at<float>(k / sizes[2] / sizes[3] % channels);
    y.convertTo(y, CV_32F);
    return y;
}

// Each input pixel adds a kernel to the output. Kernels equal the window, are larger, or have other shapes.
TEST(SmallLayers, ConvTransposeAddsAKernelForEachPixel) {
    const int depth = 5, channels = 9;
    const Upscaling all[] = {{2, 2, 2, 2},       {4, 4, 4, 4},       {1, 3, 1, 3},       {2, 1, 2, 1},
                             {2, 2, 4, 4, 1, 1}, {2, 2, 3, 3, 1, 1}, {4, 4, 8, 8, 2, 2}, {1, 1, 3, 3, 1, 1},
                             {1, 3, 5, 4, 3, 0}, {3, 2, 3, 7, 0, 5}};
    for (const Upscaling& one : all) {
        for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(5, 7), std::pair(40, 33)}) {
            SCOPED_TRACE(cv::format("kernel %dx%d, %dx%d", one[2], one[3], rows, columns));
            const cv::Mat x = randomMat({2, depth, rows, columns}, rows),
                          w = randomMat({channels * one[2] * one[3], depth}, 5),
                          b = randomMat({1, channels}, 6), none = cv::Mat::zeros(1, channels, CV_32F),
                          expected = upscaled(one, x, w, b);
            const cv::Mat y = run("MpmConvTranspose", paramsOf(one), x, {w, b});
            ASSERT_TRUE(std::equal(expected.size.p, expected.size.p + 4, y.size.p));
            EXPECT_LT(difference(y, expected), 1e-4);
            EXPECT_LT(difference(run("MpmConvTranspose", paramsOf(one), x, {w}), upscaled(one, x, w, none)),
                      1e-4);
        }
    }
    for (const Upscaling& wrong : {Upscaling{2, 2, 1, 4}, Upscaling{2, 2, 4, 4, 0, 3}})
        EXPECT_THROW(
            run("MpmConvTranspose", paramsOf(wrong), randomMat({1, 3, 2, 2}, 1), {randomMat({16, 3}, 5)}),
            cv::Exception);
}

TEST(SmallLayers, ConvTransposeAppliesItsActivation) {
    const cv::Mat x = randomMat({1, 11, 5, 41}, 1), b = randomMat({1, 9}, 6);
    for (const Upscaling& one : {Upscaling{2, 2, 2, 2}, Upscaling{2, 2, 4, 4, 1, 1}}) {
        const cv::Mat w = randomMat({9 * one[2] * one[3], 11}, 5);
        const auto with = [&](const char* name, const char* value) {
            cv::dnn::LayerParams params = paramsOf(one);
            params.set(name, value);
            return run("MpmConvTranspose", params, x, {w, b});
        };
        const cv::Mat plain = with("activation", "none");
        for (const char* name : {"gelu", "gelu_tanh", "silu", "relu"}) {
            cv::dnn::LayerParams function;
            function.set("function", name);
            EXPECT_LT(difference(with("activation", name), run("MpmFunction", function, plain)), 1e-6)
                << name;
        }
        EXPECT_EQ(difference(with("precision", "f32"), plain), 0);
        EXPECT_THROW(with("precision", "f64"), cv::Exception);
        EXPECT_THROW(with("activation", "sine"), cv::Exception);
    }
}

TEST(SmallLayers, ArithmeticBroadcastsAndKnowsItsSides) {
    const cv::Mat x = randomMat({2, 3, 4}, 11), c = randomMat({1, 3, 1}, 12);
    cv::dnn::LayerParams params;
    params.set("operation", "sub");
    params.set("reversed", 1);
    const cv::Mat y = run("MpmArithmetic", params, x, {c});
    for (int k = 0; k < 24; ++k)
        EXPECT_FLOAT_EQ(y.ptr<float>()[k], c.ptr<float>()[k / 4 % 3] - x.ptr<float>()[k]);
}

TEST(SmallLayers, MatMulRepeatsTheSmallerOperand) {
    const cv::Mat x = randomMat({6, 4, 5}, 13), c = randomMat({3, 5, 7}, 14);
    const cv::Mat y = run("MpmMatMul", {}, x, {c});
    for (int g = 0; g < 6; ++g) {
        const cv::Mat a(4, 5, CV_32F, const_cast<float*>(x.ptr<float>(g))),
            b(5, 7, CV_32F, const_cast<float*>(c.ptr<float>(g % 3)));
        EXPECT_LT(difference(cv::Mat(4, 7, CV_32F, const_cast<float*>(y.ptr<float>(g))), a * b), 1e-5);
    }
}

TEST(SmallLayers, MatMulOfFewRowsWithManyColumns) {
    for (const int rows : {1, 7, 33, 100}) {
        const cv::Mat x = randomMat({1, rows, 19}, 13), c = randomMat({1, 19, 301}, 14);
        const cv::Mat y = run("MpmMatMul", {}, x, {c});
        EXPECT_LT(difference(y, x.reshape(1, rows) * c.reshape(1, 19)), 1e-4);
    }
}

TEST(SmallLayers, FunctionsAreWhatTheyAreCalled) {
    const std::map<std::string, double (*)(double)> plain{
        {"gelu", [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }},
        {"gelu_tanh",
         [](double v) {
             return 0.5 * v * (1 + std::tanh(std::sqrt(2 / CV_PI) * (v + 0.044715 * v * v * v)));
         }},
        {"silu", [](double v) { return v / (1 + std::exp(-v)); }},
        {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
        {"erf", [](double v) { return std::erf(v); }}};
    cv::Mat x = randomMat({1, 50}, 15);
    x.at<float>(0) = 40, x.at<float>(1) = -40, x.at<float>(2) = 0;
    for (const auto& [name, function] : plain) {
        cv::dnn::LayerParams params;
        params.set("function", name);
        const cv::Mat y = run("MpmFunction", params, x);
        for (int k = 0; k < 50; ++k)
            EXPECT_NEAR(y.ptr<float>()[k], function(x.ptr<float>()[k]), 1e-6) << name;
    }
}

cv::dnn::LayerParams inOrder(const std::vector<int>& order) {
    cv::dnn::LayerParams params;
    params.set("perm", cv::dnn::DictValue::arrayInt(order.data(), static_cast<int>(order.size())));
    return params;
}

// Sizes are around multiples of 16. Some axes have size 1, and some orders keep neighbouring axes together.
TEST(SmallLayers, TransposeMovesEveryElement) {
    for (const std::vector<int>& sizes : {std::vector<int>{5, 7},
                                          {16, 33},
                                          {130, 48},
                                          {1, 17, 15},
                                          {2, 33, 16},
                                          {3, 1, 40, 6},
                                          {4, 20, 2, 9},
                                          {2, 3, 5, 4, 17}}) {
        const cv::Mat x = randomMat(sizes, 7);
        std::vector<int> order(sizes.size());
        std::iota(order.begin(), order.end(), 0);
        do {
            const cv::Mat y = run("MpmTranspose", inOrder(order), x);
            ASSERT_EQ(y.dims, x.dims);
            std::vector<int> at(sizes.size());
            int wrong = 0;
            for (size_t k = 0; k < y.total(); ++k) {
                size_t rest = k;
                for (size_t axis = order.size(); axis-- > 0; rest /= y.size[static_cast<int>(axis)])
                    at[order[axis]] = static_cast<int>(rest % y.size[static_cast<int>(axis)]);
                wrong += y.ptr<float>()[k] != x.at<float>(at.data());
            }
            ASSERT_EQ(wrong, 0) << cv::Mat(order).t() << " of " << cv::Mat(sizes).t();
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

TEST(SmallLayers, TransposeInParallel) {
    const cv::Mat x = randomMat({3, 300, 8, 32}, 7), rows = x.reshape(1, 300 * 3);
    const cv::Mat heads = run("MpmTranspose", inOrder({0, 2, 1, 3}), x),
                  keys = run("MpmTranspose", inOrder({0, 2, 3, 1}), x);
    for (int b = 0; b < 3; ++b) {
        for (int n = 0; n < 300; ++n) {
            for (int k = 0; k < 256; ++k) {
                const float expected = rows.at<float>(b * 300 + n, k);
                ASSERT_EQ(heads.ptr<float>(b, k / 32)[n * 32 + k % 32], expected);
                ASSERT_EQ(keys.ptr<float>(b)[k * 300 + n], expected);
            }
        }
    }
}

TEST(SmallLayers, RefuseWhatDoesNotFit) {
    EXPECT_THROW(run("MpmResize", {}, randomMat({1, 2, 3, 3}, 1)), cv::Exception);
    EXPECT_THROW(run("MpmLinear", {}, randomMat({1, 2, 3}, 1), {randomMat({4, 5}, 2)}), cv::Exception);
    EXPECT_THROW(run("MpmEmbed", {}, randomMat({1, 2, 3, 3}, 1), {randomMat({4, 2}, 2)}), cv::Exception);
    cv::dnn::LayerParams patch;
    const int sizes[] = {2, 2};
    patch.set("patch", cv::dnn::DictValue::arrayInt(sizes, 2));
    const cv::Mat image = randomMat({1, 3, 4, 4}, 1), table = randomMat({4, 5}, 2);
    EXPECT_NO_THROW(run("MpmEmbed", patch, image, {table, randomMat({12, 5}, 3)}));
    EXPECT_THROW(run("MpmEmbed", patch, image, {table, randomMat({11, 5}, 3)}), cv::Exception);
    EXPECT_THROW(run("MpmEmbed", patch, image, {table, randomMat({12, 4}, 3)}), cv::Exception);
    EXPECT_THROW(run("MpmEmbed", patch, image, {randomMat({3, 5}, 2), randomMat({12, 5}, 3)}), cv::Exception);
    EXPECT_THROW(run("MpmEmbed", patch, image, {table}), cv::Exception);
    patch.set("patch", 2);
    EXPECT_THROW(run("MpmEmbed", patch, image, {table, randomMat({12, 5}, 3)}), cv::Exception);
    cv::dnn::LayerParams params;
    params.set("function", "sine");
    EXPECT_THROW(run("MpmFunction", params, randomMat({1, 2}, 1)), cv::Exception);
}

}  // namespace
