// Compares MpmDeformable with the formula in f64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>
#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "support/onnx_model.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

#if CV_VERSION_MAJOR >= 5
using Shape = cv::MatShape;
#else
using Shape = cv::dnn::MatShape;
#endif

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Problem {
    int images = 1, queries = 1, heads = 1, headSize = 1, points = 1;
    std::vector<cv::Size> levels;
    bool referencePerLevel = false, referencePerImage = false;

    int levelCount() const { return static_cast<int>(levels.size()); }
    int width() const { return heads * headSize; }
    int samples() const { return levelCount() * points; }
    int positions() const {
        int all = 0;
        for (const cv::Size& level : levels)
            all += level.area();
        return all;
    }
    Dims valueSizes() const { return {images, positions(), width()}; }
    Dims offsetSizes() const { return {images, queries, heads * samples() * 2}; }
    Dims logitSizes() const { return {images, queries, heads * samples()}; }
    Dims referenceSizes() const {
        return {referencePerImage ? images : 1, queries, referencePerLevel ? levelCount() : 1, 2};
    }
    std::vector<int> levelSizes() const {
        std::vector<int> sizes;
        for (const cv::Size& level : levels)
            sizes.insert(sizes.end(), {level.height, level.width});
        return sizes;
    }
};

struct Inputs {
    cv::Mat value, offsets, logits, reference;
};

template <class Value>
cv::Mat filled(const Dims& sizes, const Value& value) {
    cv::Mat m(static_cast<int>(sizes.size()), sizes.data(), CV_32F);
    std::generate_n(m.ptr<float>(), m.total(), value);
    return m;
}

Inputs inputsOf(const Problem& p, unsigned seed, float spread) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> share(-0.1f, 1.1f);
    Inputs in;
    in.value = filled(p.valueSizes(), [&] { return normal(random); });
    in.offsets = filled(p.offsetSizes(), [&] { return spread * normal(random); });
    in.logits = filled(p.logitSizes(), [&] { return 2 * normal(random); });
    in.reference = filled(p.referenceSizes(), [&] { return share(random); });
    return in;
}

cv::Ptr<cv::dnn::Layer> layerOf(const Problem& p) {
    registerLayers();
    cv::dnn::LayerParams params;
    params.type = "mpm.MpmDeformable";
    params.set("heads", p.heads);
    params.set("points", p.points);
    const std::vector<int> sizes = p.levelSizes();
    params.set("levels", cv::dnn::DictValue::arrayInt(sizes.data(), static_cast<int>(sizes.size())));
    return cv::dnn::LayerFactory::createLayerInstance(params.type, params);
}

cv::Mat run(const Problem& p, const Inputs& in) {
    const Dims sizes = {p.images, p.queries, p.width()};
    std::vector<cv::Mat> inputs = {in.value, in.offsets, in.logits, in.reference}, none;
    std::vector<cv::Mat> outputs = {cv::Mat(3, sizes.data(), CV_32F, cv::Scalar(-7))};
    layerOf(p)->forward(inputs, outputs, none);
    return outputs[0];
}

// Interpolates a channel of a head at (x, y), in pixels. Pixels outside the level count as 0.
double bilinear(const cv::Size& level, const float* values, int stride, double x, double y) {
    if (!(x > -1 && x < level.width && y > -1 && y < level.height)) return 0;
    const int x0 = static_cast<int>(std::floor(x)), y0 = static_cast<int>(std::floor(y));
    double sum = 0;
    for (int dy : {0, 1}) {
        for (int dx : {0, 1}) {
            const int column = x0 + dx, row = y0 + dy;
            if (column < 0 || column >= level.width || row < 0 || row >= level.height) continue;
            const double weight = (dx ? x - x0 : 1 - (x - x0)) * (dy ? y - y0 : 1 - (y - y0));
            sum += weight * values[static_cast<size_t>(row * level.width + column) * stride];
        }
    }
    return sum;
}

std::vector<double> softmax(const float* logits, int count) {
    const double largest = *std::max_element(logits, logits + count);
    std::vector<double> weights;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
        weights.push_back(std::exp(logits[i] - largest));
        sum += weights.back();
    }
    for (double& weight : weights)
        weight /= sum;
    return weights;
}

// Computes the output of a head for a query with the formula of deformable attention.
void plainHead(const Problem& p, const Inputs& in, int image, int query, int head, float* out) {
    const size_t sample = (static_cast<size_t>(query) * p.heads + head) * p.samples();
    const std::vector<double> weights = softmax(in.logits.ptr<float>(image) + sample, p.samples());
    const float* offsets = in.offsets.ptr<float>(image) + 2 * sample;
    const float* reference = in.reference.ptr<float>(p.referencePerImage ? image : 0) +
                             static_cast<size_t>(query) * (p.referencePerLevel ? p.levelCount() : 1) * 2;
    std::vector<double> sums(p.headSize, 0.0);
    int start = 0, k = 0;
    for (const cv::Size& level : p.levels) {
        for (int point = 0; point < p.points; ++point, ++k) {
            const double x = static_cast<double>(reference[0]) * level.width + offsets[2 * k] - 0.5;
            const double y = static_cast<double>(reference[1]) * level.height + offsets[2 * k + 1] - 0.5;
            for (int c = 0; c < p.headSize; ++c) {
                const float* values = in.value.ptr<float>(image) + static_cast<size_t>(start) * p.width() +
                                      head * p.headSize + c;
                sums[c] += weights[k] * bilinear(level, values, p.width(), x, y);
            }
        }
        start += level.area();
        if (p.referencePerLevel) reference += 2;
    }
    std::copy(sums.begin(), sums.end(), out);
}

cv::Mat plain(const Problem& p, const Inputs& in) {
    const Dims sizes = {p.images, p.queries, p.width()};
    cv::Mat out(3, sizes.data(), CV_32F);
    for (int i = 0; i < p.images; ++i) {
        for (int q = 0; q < p.queries; ++q) {
            for (int m = 0; m < p.heads; ++m) {
                float* to = out.ptr<float>(i) + static_cast<size_t>(q) * p.width() + m * p.headSize;
                plainHead(p, in, i, q, m, to);
            }
        }
    }
    return out;
}

// The layer rounds places to float. Near place 97 (the largest width), the error is up to 4e-6 pixels. The
// values of neighbouring pixels differ by a few units, so a sample may differ by about 1e-5.
constexpr double kTolerance = 3e-5;

Problem randomProblem(std::mt19937& random) {
    const auto below = [&](int end) { return static_cast<int>(random() % end); };
    Problem p;
    p.images = 1 + below(3);
    p.queries = 1 + below(40);
    p.heads = 1 + below(4);
    p.headSize = 1 + below(40);
    p.points = 1 + below(8);
    for (int left = 1 + below(4); left > 0; --left) {
        const int side = below(4) ? 12 : 1;
        p.levels.emplace_back(1 + below(side), 1 + below(side));
    }
    if (below(20) == 0) p.levels.front() = cv::Size(97, 53);
    p.referencePerLevel = below(2);
    p.referencePerImage = below(2);
    return p;
}

TEST(Deformable, EqualsThePlainFormula) {
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
        SCOPED_TRACE(round);
        const Problem p = randomProblem(random);
        const float spread = round % 3 == 0 ? 0.5f : round % 3 == 1 ? 4.0f : 30.0f;
        const Inputs in = inputsOf(p, round, spread);
        const cv::Mat out = run(p, in), expected = plain(p, in);
        // `largest` is at least 1, because the expected output is zero if all samples are outside.
        const double largest = std::max(1.0, cv::norm(expected.reshape(1, 1), cv::NORM_INF));
        ASSERT_LE(cv::norm(out.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF), kTolerance * largest);
    }
}

// Head sizes are around the widths of vectors. A query has up to 600 samples, more than a vector has lanes.
TEST(Deformable, HeadsOfEveryWidth) {
    unsigned seed = 0;
    for (int headSize : {1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 44, 48, 63, 64, 65, 130}) {
        for (int points : {1, 4, 17, 300}) {
            Problem p;
            p.images = 2;
            p.queries = points == 300 ? 3 : 70;
            p.heads = 3;
            p.headSize = headSize;
            p.points = points;
            p.levels = {{6, 5}, {3, 2}};
            p.referencePerLevel = points == 4;
            const Inputs in = inputsOf(p, ++seed, 3);
            EXPECT_LE(relativeError(run(p, in), plain(p, in)), kTolerance) << headSize << ", " << points;
        }
    }
}

// The layer packs two of the three heads together, and the third head alone.
TEST(Deformable, OnTheLargestMapOfTheCheck) {
    Problem p;
    p.queries = 97 * 53;
    p.heads = 3;
    p.headSize = 26;
    p.points = 4;
    p.levels = {{97, 53}, {49, 27}, {1, 1}};
    const Inputs in = inputsOf(p, 5, 3);
    EXPECT_LE(relativeError(run(p, in), plain(p, in)), kTolerance);
}

// Far outside the map, nothing may be read. The map has Inf, so a product with weight 0 would be NaN.
TEST(Deformable, PlacesFarOutsideCountAsZero) {
    Problem p;
    p.queries = 3;
    p.headSize = 5;
    p.points = 2;
    p.levels = {{4, 3}};
    for (float far :
         {-1e9f, 1e9f, 3e38f, -3e38f, kInfinity, -kInfinity, std::nanf(""), -1.0f, 2147483648.0f}) {
        for (int axis : {0, 1}) {
            SCOPED_TRACE(far);
            Inputs in = inputsOf(p, 3, 1);
            in.value.setTo(kInfinity);
            in.reference.setTo(far == -1.0f ? -0.5 : 0.5);
            in.offsets.setTo(0);
            for (int k = 0; k < p.queries * p.points; ++k)
                in.offsets.ptr<float>()[2 * k + axis] = far == -1.0f ? -9.0f : far;
            EXPECT_EQ(cv::countNonZero(run(p, in).reshape(1, 1)), 0);
        }
    }
}

// Pixels beyond a border count as 0. The layer must not read pixels of the next row or level instead.
TEST(Deformable, NothingIsReadBeyondABorder) {
    Problem p;
    p.queries = 4;
    p.headSize = 5;
    p.levels = {{5, 4}, {3, 6}};
    for (const bool column : {false, true}) {
        for (const bool last : {false, true}) {
            SCOPED_TRACE(cv::format("column %d, last %d", column, last));
            Inputs in = inputsOf(p, 3, 0);
            in.reference.setTo(0.5);
            int position = 0, k = 0;
            for (const cv::Size& level : p.levels) {
                const int across = column ? level.width : level.height, edge = last ? across - 1 : 0;
                for (int y = 0; y < level.height; ++y)
                    for (int x = 0; x < level.width; ++x, ++position)
                        if ((column ? x : y) != edge)
                            std::fill_n(in.value.ptr<float>() + position * p.headSize, p.headSize, kInfinity);
                // The place is a quarter of a pixel beyond the centre of the outermost pixel.
                for (int q = 0; q < p.queries; ++q)
                    in.offsets.ptr<float>()[2 * (q * p.samples() + k) + (column ? 0 : 1)] =
                        edge + (last ? 0.25f : -0.25f) + 0.5f - 0.5f * across;
                ++k;
            }
            EXPECT_LE(relativeError(run(p, in), plain(p, in)), kTolerance);
        }
    }
}

TEST(Deformable, ReferencesFarOutsideCountAsZero) {
    Problem p;
    p.queries = 4;
    p.headSize = 3;
    p.levels = {{65, 2}, {2, 7}};
    for (float far : {3e38f, -3e38f, kInfinity, -kInfinity, std::nanf("")}) {
        Inputs in = inputsOf(p, 3, 1);
        in.reference.setTo(far);
        in.offsets.setTo(-far);  // the sum with an infinite reference may be NaN
        EXPECT_EQ(cv::countNonZero(run(p, in).reshape(1, 1)), 0) << far;
    }
}

// A sample with weight 0 whose place is far away or NaN must not change the result of the other samples.
TEST(Deformable, ASampleOutsideChangesNoOther) {
    Problem p;
    p.queries = 20;
    p.heads = 2;
    p.headSize = 20;
    p.points = 3;
    p.levels = {{5, 6}};
    Inputs in = inputsOf(p, 3, 1);
    for (int k = 0; k < p.queries * p.heads; ++k) {
        in.offsets.ptr<float>()[6 * k + 2] = k % 2 ? std::nanf("") : 1e30f;
        in.logits.ptr<float>()[3 * k + 1] = -kInfinity;
    }
    Inputs near = in;
    near.offsets = in.offsets.clone();
    for (int k = 0; k < p.queries * p.heads; ++k)
        near.offsets.ptr<float>()[6 * k + 2] = 0;
    EXPECT_TRUE(sameBits(run(p, in), run(p, near)));
}

TEST(Deformable, LogitsOfAnySize) {
    Problem p;
    p.queries = 2;
    p.headSize = 3;
    p.points = 3;
    p.levels = {{2, 2}};
    Inputs in = inputsOf(p, 3, 0.1f);
    in.reference.setTo(0.5);
    const float logits[] = {3e38f, -3e38f, 0, -1e30f, 1e30f, -kInfinity};
    std::copy_n(logits, 6, in.logits.ptr<float>());
    EXPECT_LE(relativeError(run(p, in), plain(p, in)), kTolerance);
}

TEST(Deformable, SameBitsForAnyThreadCountAndBatch) {
    Problem p;
    p.images = 3;
    p.queries = 900;
    p.heads = 4;
    p.headSize = 24;
    p.points = 4;
    p.levels = {{30, 20}, {15, 10}};
    const Inputs in = inputsOf(p, 9, 3);
    const int threads = cv::getNumThreads();
    const cv::Mat expected = run(p, in);
    for (int count : {1, 2, 5}) {
        cv::setNumThreads(count);
        EXPECT_TRUE(sameBits(run(p, in), expected)) << count;
    }
    cv::setNumThreads(threads);
    Problem one = p;
    one.images = 1;
    for (int i = 0; i < p.images; ++i) {
        const auto image = [&](const cv::Mat& m, const Dims& sizes) {
            return cv::Mat(3, sizes.data(), CV_32F, m.clone().ptr<float>(i)).clone();
        };
        const Inputs alone = {image(in.value, one.valueSizes()), image(in.offsets, one.offsetSizes()),
                              image(in.logits, one.logitSizes()), in.reference};
        EXPECT_TRUE(sameBits(run(one, alone), image(expected, {1, p.queries, p.width()}))) << i;
    }
}

TEST(Deformable, InsideANetwork) {
    registerLayers();
    Problem p;
    p.images = 2;
    p.queries = 12;
    p.heads = 2;
    p.headSize = 8;
    p.points = 4;
    p.levels = {{4, 3}, {2, 2}};
    p.referencePerLevel = true;
    const Inputs in = inputsOf(p, 4, 2);
    OnnxModel model;
    model.input("value", p.valueSizes()).input("offsets", p.offsetSizes()).input("logits", p.logitSizes());
    model.constant("reference", in.reference, p.referenceSizes());
    model.node("MpmDeformable", {"value", "offsets", "logits", "reference"}, {"out"}, "mpm");
    model.attribute("heads", p.heads).attribute("points", p.points).ints("levels", p.levelSizes());
    model.output("out", {p.images, p.queries, p.width()});
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    net.setInput(in.value, "value");
    net.setInput(in.offsets, "offsets");
    net.setInput(in.logits, "logits");
    EXPECT_TRUE(sameBits(net.forward(), run(p, in)));
}

TEST(Deformable, CountsItsOperations) {
    Problem p;
    p.images = 2;
    p.queries = 5;
    p.heads = 3;
    p.headSize = 4;
    p.points = 2;
    p.levels = {{4, 3}, {2, 2}};
    const auto layer = layerOf(p);
    std::vector<Shape> in, out, internals;
    for (const Dims& sizes : {p.valueSizes(), p.offsetSizes(), p.logitSizes(), p.referenceSizes()})
        in.emplace_back(sizes.data(), sizes.data() + sizes.size());
    layer->getMemoryShapes(in, 0, out, internals);
    EXPECT_EQ(layer->getFLOPS(in, out), 2 * 4 * 2 * 5 * 12 * 4);
}

}  // namespace
}  // namespace mpm::test
