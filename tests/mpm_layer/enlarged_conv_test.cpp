// Tests convolutions of enlarged images: compares random shapes, in all precisions, with sums in f64. For the
// sums, simple code in this file enlarges the images.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "mpm_layer/conv_cases.hpp"
#include "mpm_layer/cpu/enlarged_convolution.hpp"

namespace {

using namespace mpm::test::conv;
using mpm::Precision;
using mpm::cpu::EnlargedConvolution;
using mpm::cpu::Enlarging;

// Enlarges a line of `from` samples to `to` pixels, as ONNX's Resize does. Returns the value of pixel `at`.
double between(int from, int to, int at, bool alignCorners, const std::function<double(int)>& sample) {
    double place = alignCorners ? (to > 1 ? at * (from - 1.0) / (to - 1) : 0) : (at + 0.5) * from / to - 0.5;
    place = std::clamp(place, 0.0, from - 1.0);
    const int low = static_cast<int>(std::floor(place)), high = std::min(low + 1, from - 1);
    const double weight = place - low;
    return weight == 0 ? sample(low) : (1 - weight) * sample(low) + weight * sample(high);
}

Values enlarge(const Values& small, const ConvShape& shape, const Enlarging& from) {
    Values large(static_cast<size_t>(shape.images) * shape.channels * shape.y.size * shape.x.size);
    const int area = shape.y.size * shape.x.size;
    for (size_t k = 0; k < large.size(); ++k) {
        const float* plane = small.data() + k / area * from.rows * from.columns;
        const int y = static_cast<int>(k % area) / shape.x.size, x = static_cast<int>(k % shape.x.size);
        large[k] = static_cast<float>(between(from.rows, shape.y.size, y, from.alignCorners, [&](int row) {
            return between(from.columns, shape.x.size, x, from.alignCorners,
                           [&](int column) { return plane[row * from.columns + column]; });
        }));
    }
    return large;
}

struct EnlargedCase {
    Enlarging from;
    Case large, absolute;  // the enlarged images, and their absolute values
    Values small;

    EnlargedCase(ConvShape shape, std::mt19937& random)
        : from{pick(random, 1, shape.y.size), pick(random, 1, shape.x.size), random() % 2 == 0},
          large(shape, random),
          absolute(large),
          small(randomValues(static_cast<size_t>(shape.images) * shape.channels * from.rows * from.columns,
                             random)) {
        change();
    }

    void change() {
        large.images = enlarge(small, large.shape, from);
        Values positive = small;
        for (float& v : positive)
            v = std::abs(v);
        absolute.images = enlarge(positive, large.shape, from);
        absolute.largestPixel = largest(small.data(), small.size());
    }

    Values run(Precision precision, const ConvEnd& end) const {
        Values output(large.outputs());
        const EnlargedConvolution convolution(large.weights.data(), large.shape, from, precision);
        convolution.run(small.data(), large.shape.images, end, output.data());
        return output;
    }
};

ConvShape plainShape(std::mt19937& random) {
    ConvShape shape = randomShape(random);
    shape.channels = shape.channels / shape.groups;
    shape.outs = shape.outs / shape.groups;
    shape.groups = shape.y.stride = shape.x.stride = 1;
    return shape;
}

TEST(EnlargedConvolution, IsTheConvolutionOfTheEnlargedImage) {
    std::mt19937 random(11);
    for (int n = 0; n < 1000; ++n) {
        const EnlargedCase c(plainShape(random), random);
        ConvEnd end;
        if (n % 3) end.bias = c.large.bias.data();
        const Precision precision = precisions()[n % precisions().size()];
        const Values y = c.run(precision, end);
        const ConvShape& shape = c.large.shape;
        const int pixels = shape.pixels(), width = shape.x.outputs();
        for (int check = 0; check < 30; ++check) {
            const size_t at = check < 3 ? y.size() - 1 - check % y.size() : random() % y.size();
            const int image = static_cast<int>(at / pixels / shape.outs),
                      out = static_cast<int>(at / pixels % shape.outs), p = static_cast<int>(at % pixels);
            const Sum sum = sumOf(c.large, image, out, p / width, p % width, false),
                      bound = sumOf(c.absolute, image, out, p / width, p % width, false);
            ASSERT_NEAR(y[at], sum.value + (end.bias ? end.bias[out] : 0),
                        boundOf(c.absolute, out, bound, precision) + bound.both * 0x1p-20)
                << textOf(shape) << "from " << c.from.rows << "x" << c.from.columns << " at " << at
                << " in precision " << static_cast<int>(precision);
        }
    }
}

TEST(EnlargedConvolution, EndsWithBiasActivationAndResidual) {
    std::mt19937 random(12);
    for (int n = 0; n < 100; ++n) {
        const EnlargedCase c(plainShape(random), random);
        const Values residual = randomValues(c.large.outputs(), random);
        const Values plain = c.run(Precision::F32, {});
        ConvEnd end;
        end.bias = c.large.bias.data();
        end.activation = Activation::Relu;
        end.residual = residual.data();
        for (const bool last : {false, true}) {
            end.residualLast = last;
            const Values y = c.run(Precision::F32, end);
            const int pixels = c.large.shape.pixels();
            for (size_t k = 0; k < y.size(); ++k) {
                const float biased = plain[k] + end.bias[k / pixels % c.large.shape.outs];
                const float expected =
                    last ? std::max(0.f, biased) + residual[k] : std::max(0.f, biased + residual[k]);
                ASSERT_NEAR(y[k], expected, 1e-5 * (10 + std::abs(expected))) << textOf(c.large.shape);
            }
        }
    }
}

// The bits of an image's result depend neither on the other images of the batch nor on the number of threads.
TEST(EnlargedConvolution, BitsDependNeitherOnBatchNorThreads) {
    std::mt19937 random(13);
    const int threads = cv::getNumThreads();
    for (int n = 0; n < 30; ++n) {
        ConvShape shape = plainShape(random);
        shape.images = 2;
        if (n % 4 == 0) shape.outs = 300;
        const EnlargedCase all(shape, random);
        EnlargedCase second = all;
        second.large.shape.images = 1;
        second.small.erase(second.small.begin(), second.small.begin() + second.small.size() / 2);
        for (const Precision precision : precisions()) {
            cv::setNumThreads(threads);
            const Values both = all.run(precision, {});
            for (const int count : {1, 3}) {
                cv::setNumThreads(count);
                const Values alone = second.run(precision, {});
                ASSERT_TRUE(std::equal(alone.begin(), alone.end(), both.begin() + alone.size()))
                    << textOf(shape) << count;
            }
        }
    }
    cv::setNumThreads(threads);
}

// A kernel of 2,000 output channels is multiplied in several parts.
TEST(EnlargedConvolution, HasManyOutputs) {
    std::mt19937 random(14);
    EnlargedCase c({1, 4, 2000, 1, {32, 3, 1, 1, 1, 1}, {32, 3, 1, 1, 1, 1}}, random);
    c.from = {17, 16, false};
    c.small = randomValues(4 * 17 * 16, random);
    c.change();
    const Values y = c.run(Precision::F32, {});
    for (int check = 0; check < 2000; ++check) {
        const size_t at = random() % y.size();
        const int out = static_cast<int>(at / 1024), p = static_cast<int>(at % 1024);
        ASSERT_NEAR(y[at], sumOf(c.large, 0, out, p / 32, p % 32, false).value, 1e-4) << at;
    }
}

TEST(EnlargedConvolution, KeepsNan) {
    std::mt19937 random(15);
    for (const Precision precision : precisions()) {
        EnlargedCase c({1, 6, 12, 1, {16, 3, 1, 1, 1, 1}, {16, 3, 1, 1, 1, 1}}, random);
        c.from = {8, 8, false};
        c.small = randomValues(6 * 8 * 8, random);
        c.small[8 * 2 + 2] = std::numeric_limits<float>::quiet_NaN();  // pixel (2, 2) of the first channel
        ConvEnd end;
        end.activation = Activation::Relu;
        const Values y = c.run(precision, end);
        for (const int p : {3 * 16 + 3, 4 * 16 + 5, 6 * 16 + 6})
            EXPECT_TRUE(std::isnan(y[p])) << p;
        EXPECT_TRUE(precision == Precision::I8 || std::isfinite(y[12 * 16 + 12]));
    }
}

}  // namespace
