// Random convolutions, and their expected sums in f64.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mpm_layer/cpu/convolution.hpp"

namespace mpm::test::conv {

using cpu::ConvEnd;
using cpu::ConvShape;
using cpu::Source;
using kernels::Activation;

using Values = std::vector<float>;

inline Values randomValues(size_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    Values values(count);
    for (float& v : values)
        v = normal(random);
    return values;
}

inline int pick(std::mt19937& random, int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
}

inline cpu::ConvAxis randomAxis(std::mt19937& random) {
    cpu::ConvAxis axis{pick(random, 1, 40), pick(random, 1, 5)};
    if (random() % 3 == 0) axis.kernel = random() % 2 ? 1 : 3;
    axis.stride = random() % 2 ? 1 : pick(random, 1, 4);
    axis.dilation = random() % 3 ? 1 : pick(random, 1, 3);
    axis.before = pick(random, 0, axis.reach() - 1);
    axis.after = pick(random, 0, axis.reach() - 1);
    axis.size = std::max(axis.size, axis.reach() - axis.before - axis.after);
    return axis;
}

inline ConvShape randomShape(std::mt19937& random) {
    ConvShape shape{pick(random, 1, 2), 0, 0, random() % 3 ? 1 : pick(random, 1, 5), {1, 1}, {1, 1}};
    shape.channels = shape.groups * pick(random, 1, random() % 4 ? 9 : 40);
    shape.outs = shape.groups * pick(random, 1, random() % 4 ? 9 : 110);
    if (random() % 20 == 0) shape.channels = shape.groups * pick(random, 100, 300);  // several blocks
    shape.y = randomAxis(random);
    shape.x = randomAxis(random);
    return shape;
}

inline double largest(const float* values, size_t count) {
    double most = 0;
    for (size_t k = 0; k < count; ++k)
        most = std::max<double>(most, std::abs(values[k]));
    return most;
}

struct Case {
    ConvShape shape;
    Values images, weights, bias;
    double largestPixel;

    Case(const ConvShape& s, std::mt19937& random)
        : shape(s),
          images(randomValues(static_cast<size_t>(s.images) * s.channels * s.y.size * s.x.size, random)),
          weights(randomValues(static_cast<size_t>(s.outs) * s.depth(), random)),
          bias(randomValues(s.outs, random)),
          largestPixel(largest(images.data(), images.size())) {}

    size_t outputs() const { return static_cast<size_t>(shape.images) * shape.outs * shape.pixels(); }
};

struct Sum {
    double value = 0, weights = 0, pixels = 0, both = 0;  // all except `value` are sums of absolute values
    int count = 0;
};

inline Sum sumOf(const Case& c, int image, int out, int y, int x, bool rectified) {
    const ConvShape& s = c.shape;
    Sum sum;
    for (int k = 0; k < s.depth(); ++k) {
        const int tap = k % s.taps(), channel = out / s.outsEach() * s.channelsEach() + k / s.taps();
        const int py = y * s.y.stride + tap / s.x.kernel * s.y.dilation - s.y.before,
                  px = x * s.x.stride + tap % s.x.kernel * s.x.dilation - s.x.before;
        if (py < 0 || py >= s.y.size || px < 0 || px >= s.x.size) continue;
        double pixel =
            c.images[((static_cast<size_t>(image) * s.channels + channel) * s.y.size + py) * s.x.size + px];
        if (rectified && pixel < 0) pixel = 0;
        const double weight = c.weights[static_cast<size_t>(out) * s.depth() + k];
        sum.value += weight * pixel;
        sum.weights += std::abs(weight);
        sum.pixels += std::abs(pixel);
        sum.both += std::abs(weight * pixel);
        ++sum.count;
    }
    return sum;
}

// Returns an upper bound of the error of a sum. Rounding of operands and of partial sums causes the error.
inline double boundOf(const Case& c, int out, const Sum& sum, Precision precision) {
    const double rounding = sum.both * sum.count * 0x1p-23 + 1e-6;
    if (precision == Precision::BF16) return rounding + sum.both * 0x1p-7;
    if (precision != Precision::I8) return rounding;
    const double pixel = c.largestPixel / 127,
                 weight =
                     largest(c.weights.data() + static_cast<size_t>(out) * c.shape.depth(), c.shape.depth()) /
                     63;
    return rounding + sum.weights * pixel / 2 + sum.pixels * weight / 2 + sum.count * pixel * weight / 4;
}

inline Values convolve(const Case& c, Precision precision, const ConvEnd& end, bool rectified = false,
                       Source source = Source::Temporary) {
    Values output(c.outputs());
    cpu::checkShape(c.shape);
    const cpu::ConvWeights weights(c.weights.data(), c.shape, precision, source);
    cpu::convolve(c.images.data(), rectified, c.shape, weights, end, output.data());
    return output;
}

inline std::vector<Precision> precisions() {
    std::vector<Precision> all{Precision::F32, Precision::I8};
    if (kernels::hasBf16()) all.push_back(Precision::BF16);
    return all;
}

inline std::string textOf(const ConvShape& s) {
    const auto text = [](const cpu::ConvAxis& a) {
        return cv::format("%d k%d s%d d%d p%d,%d ", a.size, a.kernel, a.stride, a.dilation, a.before,
                          a.after);
    };
    return cv::format("%d images, %d to %d channels in %d groups, ", s.images, s.channels, s.outs, s.groups) +
           text(s.y) + text(s.x);
}

}  // namespace mpm::test::conv
