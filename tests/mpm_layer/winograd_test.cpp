// Compares convolutions by Winograd's transforms with sums in f64.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>

#include "mpm_layer/conv_cases.hpp"
#include "mpm_layer/cpu/winograd.hpp"

namespace {

using namespace mpm::test::conv;
using mpm::Precision;

// Returns the least side, in tiles, of a square image that uses Winograd's transforms in f32.
int leastTiles() {
    return static_cast<int>(std::ceil(std::sqrt(2. * mpm::kernels::panelColumns())));
}

// Returns a random shape for which Winograd's transforms are used.
ConvShape winogradShape(std::mt19937& random) {
    ConvShape shape{pick(random, 1, 3),
                    pick(random, 32, random() % 4 ? 70 : 600),
                    pick(random, 32, 210),
                    1,
                    {1, 3},
                    {1, 3}};
    for (mpm::cpu::ConvAxis* axis : {&shape.y, &shape.x}) {
        axis->size = pick(random, 4 * leastTiles() - 1, random() % 4 ? 40 : 150);
        axis->before = pick(random, 0, 2);
        axis->after = pick(random, 0, 2);
    }
    return shape;
}

Values byWinograd(const Case& c, const ConvEnd& end, bool rectified = false) {
    EXPECT_TRUE(mpm::cpu::suitsWinograd(c.shape, Precision::F32)) << textOf(c.shape);
    return convolve(c, Precision::F32, end, rectified, Source::Kept);
}

TEST(Winograd, IsTheSumOfItsProducts) {
    std::mt19937 random(21);
    for (int n = 0; n < 60; ++n) {
        const Case c(winogradShape(random), random);
        const Values residual = randomValues(c.outputs(), random);
        ConvEnd end;
        if (n % 3) end.bias = c.bias.data();
        if (n % 4) end.residual = residual.data();
        end.residualLast = n % 4 == 2;
        end.activation = n % 2 ? Activation::Relu : Activation::None;
        const bool rectified = n % 5 == 0;
        const Values y = byWinograd(c, end, rectified);
        const int pixels = c.shape.pixels(), width = c.shape.x.outputs();
        for (int check = 0; check < 300; ++check) {
            const size_t at = check < 3 ? y.size() - 1 - check : random() % y.size();
            const int image = static_cast<int>(at / pixels / c.shape.outs),
                      out = static_cast<int>(at / pixels % c.shape.outs), p = static_cast<int>(at % pixels);
            const Sum sum = sumOf(c, image, out, p / width, p % width, rectified);
            double expected = sum.value + (end.bias ? end.bias[out] : 0);
            if (end.residual && !end.residualLast) expected += residual[at];
            if (end.activation == Activation::Relu) expected = std::max(0., expected);
            if (end.residual && end.residualLast) expected += residual[at];
            const double sigma = std::sqrt(9. * c.shape.channels);  // standard deviation of a sum
            ASSERT_NEAR(y[at], expected, 1e-5 * sigma) << textOf(c.shape) << "at " << at;
        }
    }
}

// In bf16, only large convolutions use transforms (in f32), and only if the processor has no tiles. In int8,
// no convolution uses transforms.
TEST(Winograd, DependsOnThePrecision) {
    const auto suits = [](int channels, int size, Precision precision) {
        return mpm::cpu::suitsWinograd(
            {1, channels, channels, 1, {size, 3, 1, 1, 1, 1}, {size, 3, 1, 1, 1, 1}}, precision);
    };
    const int size = 4 * leastTiles();
    EXPECT_TRUE(suits(32, size, Precision::F32));
    EXPECT_FALSE(suits(31, size, Precision::F32) || suits(32, size - 4, Precision::F32));
    EXPECT_EQ(suits(128, 64, Precision::BF16), !mpm::kernels::multipliesInTiles());
    EXPECT_FALSE(suits(128, 60, Precision::BF16));
    EXPECT_FALSE(suits(512, 128, Precision::I8));
}

TEST(Winograd, BitsDependNeitherOnBatchNorThreads) {
    std::mt19937 random(22);
    const int threads = cv::getNumThreads();
    for (int n = 0; n < 20; ++n) {
        ConvShape shape = winogradShape(random);
        shape.images = 2;
        const Case c(shape, random);
        Case one = c;
        one.shape.images = 1;
        one.images.assign(c.images.begin() + static_cast<std::ptrdiff_t>(c.images.size() / 2),
                          c.images.end());
        cv::setNumThreads(threads);
        const Values all = byWinograd(c, {});
        for (const int count : {1, 2, 7}) {
            cv::setNumThreads(count);
            const Values alone = byWinograd(one, {});
            ASSERT_TRUE(std::equal(alone.begin(), alone.end(),
                                   all.begin() + static_cast<std::ptrdiff_t>(alone.size())))
                << textOf(shape) << count;
        }
    }
    cv::setNumThreads(threads);
}

// Transforms would spread an extreme value over a tile. Images with extreme values are therefore computed
// without transforms.
TEST(Winograd, LeavesOutImagesWithExtremeValues) {
    std::mt19937 random(23);
    const ConvShape shape{3, 40, 33, 1, {30, 3, 1, 1, 1, 1}, {31, 3, 1, 1, 1, 1}};
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), 1e36f}) {
        Case c(shape, random);
        const Values residual = randomValues(c.outputs(), random), plain = byWinograd(c, {});
        c.images[c.images.size() / 3 + 30 * 31 * 7 + 31 * 29 + 5] =
            value;  // the last row of a channel of image 1
        ConvEnd end;
        end.residual = residual.data();
        const Values y = byWinograd(c, end), expected = convolve(c, Precision::F32, end);
        const size_t image = y.size() / 3;
        for (size_t k = 0; k < y.size(); ++k) {
            const float wanted = k / image == 1 ? expected[k] : plain[k] + residual[k];
            ASSERT_TRUE(y[k] == wanted || (std::isnan(y[k]) && std::isnan(wanted)) ||
                        (k / image != 1 && std::abs(y[k] - wanted) < 1e-5))
                << value << " at " << k;
        }
    }
    Case c(shape, random);
    c.weights[5] = std::numeric_limits<float>::quiet_NaN();
    const Values y = byWinograd(c, {}), expected = convolve(c, Precision::F32, {});
    for (size_t k = 0; k < y.size(); ++k)
        ASSERT_TRUE(y[k] == expected[k] || (std::isnan(y[k]) && std::isnan(expected[k])));
}

}  // namespace
