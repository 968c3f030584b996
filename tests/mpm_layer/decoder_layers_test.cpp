// Compares MpmMaskedSoftmax, MpmGridSample and MpmShare with their definitions in f64.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <opencv2/core/utility.hpp>

#include "mpm_layer/hostile_fixture.hpp"
#include "support/encoder_case.hpp"
#include "support/onnx_model.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

cv::Mat randomBlob(const Sizes& sizes, unsigned seed, double deviation = 1) {
    const int total = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<int>());
    return randomMatrix(1, total, seed, deviation).reshape(1, static_cast<int>(sizes.size()), sizes.data());
}

cv::Mat runOne(const cv::Ptr<Layer>& layer, const std::vector<cv::Mat>& in, const Sizes& sizes) {
    std::vector<cv::Mat> out = {mat(sizes)};
    runLayer(layer, in, out);
    return out[0];
}

cv::Mat maskedSoftmax(const cv::Mat& scores, const cv::Mat& masks) {
    return runOne(make("MpmMaskedSoftmax"), {scores, masks},
                  {scores.size[0], scores.size[1], scores.size[2]});
}

std::vector<double> plainRow(const float* scores, const float* mask, int keys) {
    std::vector<bool> kept(keys);
    for (int k = 0; k < keys; ++k)
        kept[k] = !(mask[k] < 0);
    if (std::none_of(kept.begin(), kept.end(), [](bool one) { return one; })) kept.assign(keys, true);
    double largest = -HUGE_VAL, sum = 0;
    for (int k = 0; k < keys; ++k)
        if (kept[k]) largest = std::max<double>(largest, scores[k]);
    std::vector<double> row(keys, 0.0);
    for (int k = 0; k < keys; ++k)
        if (kept[k]) sum += row[k] = std::exp(scores[k] - largest);
    for (double& value : row)
        value /= sum;
    return row;
}

/// A NaN score must make its row NaN. On x86, max(a, b) returns b if a is NaN, so NaN could be lost.
TEST(MaskedSoftmax, NaNIsNotLost) {
    for (const int at : {0, 1, 7, 11, 15, 16}) {
        cv::Mat scores = randomBlob({1, 1, 17}, 5);
        scores.ptr<float>()[3] = 100;
        scores.ptr<float>()[at] = kNaN;
        const cv::Mat out = maskedSoftmax(scores, randomBlob({1, 1, 17}, 6).setTo(1));
        for (int k = 0; k < 17; ++k)
            EXPECT_TRUE(std::isnan(out.ptr<float>()[k])) << "NaN at " << at << ", key " << k;
    }
}

TEST(MaskedSoftmax, EqualsThePlainFormula) {
    unsigned seed = 0;
    for (const int keys : {1, 3, 7, 15, 16, 17, 31, 33, 64, 100, 1025}) {
        for (const double share : {-2.0, 0.0, 2.0}) {  // is added to the masks, to keep few or many keys
            const int heads = 3, images = 2, queries = 9;
            const cv::Mat scores = randomBlob({images * heads, queries, keys}, ++seed, 3);
            cv::Mat masks = randomBlob({images, queries, keys}, ++seed);
            masks += share;
            std::fill_n(masks.ptr<float>(1) + 4 * keys, keys, -1.0f);  // this row keeps no key
            const cv::Mat out = maskedSoftmax(scores, masks);
            for (int row = 0; row < images * heads * queries; ++row) {
                const int image = row / queries / heads, query = row % queries;
                const std::vector<double> expected =
                    plainRow(scores.ptr<float>() + row * keys, masks.ptr<float>(image) + query * keys, keys);
                for (int k = 0; k < keys; ++k) {
                    const float value = out.ptr<float>()[row * keys + k];
                    ASSERT_NEAR(value, expected[k], 2e-6 * std::max(expected[k], 0.01))
                        << keys << ", " << row;
                    ASSERT_EQ(value == 0, expected[k] == 0);
                }
            }
        }
    }
}

TEST(MaskedSoftmax, WithoutMasksTakesScoresOfAnyShape) {
    unsigned seed = 0;
    for (const Sizes& sizes : {Sizes{5, 9}, {2, 3, 17}, {2, 3, 4, 64}, {1, 2, 3, 2, 1}, {70, 1, 300}}) {
        const cv::Mat scores = randomBlob(sizes, ++seed, 3);
        const cv::Mat out = runOne(make("MpmMaskedSoftmax"), {scores}, sizes);
        const int keys = sizes.back();
        const std::vector<float> all(keys, 1.0f);
        for (size_t row = 0; row < scores.total() / keys; ++row) {
            const std::vector<double> expected = plainRow(scores.ptr<float>() + row * keys, all.data(), keys);
            for (int k = 0; k < keys; ++k)
                ASSERT_NEAR(out.ptr<float>()[row * keys + k], expected[k], 1e-6) << row << " " << k;
        }
    }
}

TEST(MaskedSoftmax, MasksOfAnyKind) {
    const Sizes sizes = {1, 1, 8};
    cv::Mat masks = mat(sizes), scores = mat(sizes);
    const float logits[] = {0, -0.0f, kNaN, kInfinity, -1e-30f, -kInfinity, -3e38f, 1e-38f};
    std::copy_n(logits, 8, masks.ptr<float>());
    const float expected[] = {.2f, .2f, .2f, .2f, 0, 0, 0, .2f};
    cv::Mat out = maskedSoftmax(scores, masks);
    for (int k = 0; k < 8; ++k)
        EXPECT_FLOAT_EQ(out.ptr<float>()[k], expected[k]) << k;
    // The scores of masked keys must not change the result, even if they are NaN or infinite.
    for (int k : {4, 5, 6})
        scores.ptr<float>()[k] = k == 4 ? kNaN : k == 5 ? kInfinity : 3e38f;
    out = maskedSoftmax(scores, masks);
    for (int k = 0; k < 8; ++k)
        EXPECT_FLOAT_EQ(out.ptr<float>()[k], expected[k]) << k;
}

TEST(MaskedSoftmax, ScoresOfAnySize) {
    const Sizes sizes = {1, 1, 5};
    cv::Mat masks = mat(sizes), scores = mat(sizes);
    const float values[] = {3e38f, -3e38f, -kInfinity, 1e30f, 3e38f}, expected[] = {.5f, 0, 0, 0, .5f};
    std::copy_n(values, 5, scores.ptr<float>());
    const cv::Mat out = maskedSoftmax(scores, masks);
    for (int k = 0; k < 5; ++k)
        EXPECT_FLOAT_EQ(out.ptr<float>()[k], expected[k]) << k;
}

TEST(MaskedSoftmax, SameBitsForAnyThreadCountAndInANetwork) {
    const Sizes sizes = {8, 50, 333};
    const cv::Mat scores = randomBlob(sizes, 1, 3), masks = randomBlob({2, 50, 333}, 2);
    const cv::Mat expected = maskedSoftmax(scores, masks);
    const int threads = cv::getNumThreads();
    for (int count : {1, 3}) {
        cv::setNumThreads(count);
        EXPECT_TRUE(sameBits(maskedSoftmax(scores, masks), expected));
    }
    cv::setNumThreads(threads);
    OnnxModel model;
    model.input("scores", sizes).input("masks", {2, 50, 333});
    model.node("MpmMaskedSoftmax", {"scores", "masks"}, {"out"}, "mpm").output("out", sizes);
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    net.setInput(scores, "scores");
    net.setInput(masks, "masks");
    EXPECT_TRUE(sameBits(net.forward(), expected));
}

struct Sampling {
    std::string mode, padding;
    bool alignCorners;
};

std::vector<Sampling> samplings() {
    std::vector<Sampling> all;
    for (const char* mode : {"bilinear", "linear", "nearest"})
        for (const char* padding : {"zeros", "border"})
            for (bool corners : {false, true})
                all.push_back({mode, padding, corners});
    return all;
}

cv::Ptr<Layer> sampler(const Sampling& s) {
    LayerParams params = with("mode", DictValue(cv::String(s.mode)));
    params.set("padding_mode", cv::String(s.padding));
    params.set("align_corners", s.alignCorners ? 1 : 0);
    return make("MpmGridSample", params);
}

// Computes a sample as ONNX specifies it for GridSample.
double plainSample(const Sampling& s, const float* plane, int rows, int columns, float gx, float gy) {
    const auto place = [&](double share, int size) {
        return s.alignCorners ? (share + 1) / 2 * (size - 1) : ((share + 1) * size - 1) / 2;
    };
    const auto pixel = [&](double y, double x) -> double {
        if (s.padding == "border") {
            x = std::min(std::max(x, 0.0), columns - 1.0);
            y = std::min(std::max(y, 0.0), rows - 1.0);
        }
        if (x < 0 || x >= columns || y < 0 || y >= rows) return 0;
        return plane[static_cast<int>(y) * columns + static_cast<int>(x)];
    };
    const double x = place(gx, columns), y = place(gy, rows);
    if (s.mode == "nearest") return pixel(std::nearbyint(y), std::nearbyint(x));
    const double x0 = std::floor(x), y0 = std::floor(y), fx = x - x0, fy = y - y0;
    return (1 - fy) * ((1 - fx) * pixel(y0, x0) + fx * pixel(y0, x0 + 1)) +
           fy * ((1 - fx) * pixel(y0 + 1, x0) + fx * pixel(y0 + 1, x0 + 1));
}

TEST(GridSample, EqualsTheSpecification) {
    std::mt19937 random(1);
    for (const Sampling& s : samplings()) {
        for (int round = 0; round < 60; ++round) {
            const int images = 1 + random() % 2, channels = 1 + random() % 5, rows = 1 + random() % 9,
                      columns = 1 + random() % 9, points = 1 + random() % 600;
            const cv::Mat map = randomBlob({images, channels, rows, columns}, random());
            const cv::Mat grid = randomBlob({images, points, 3, 2}, random(), round % 3 ? 0.7 : 4);
            const cv::Mat out = runOne(sampler(s), {map, grid}, {images, channels, points, 3});
            for (int k = 0; k < images * channels * points * 3; ++k) {
                const int plane = k / (points * 3), image = plane / channels, point = k % (points * 3);
                const float* at = grid.ptr<float>(image) + 2 * point;
                const double expected =
                    plainSample(s, map.ptr<float>() + plane * rows * columns, rows, columns, at[0], at[1]);
                ASSERT_NEAR(out.ptr<float>()[k], expected, 1e-5) << s.mode << s.padding << s.alignCorners;
            }
        }
    }
}

// A place halfway between two pixels (0 and 1, or 1 and 2) is rounded to the even pixel.
TEST(GridSample, NearestOfHalves) {
    const float values[] = {10, 20, 30};
    cv::Mat map = mat({1, 1, 1, 3}), grid = mat({1, 1, 2, 2});
    std::copy_n(values, 3, map.ptr<float>());
    const float places[] = {-0.5f, 0, 0.5f, 0};
    std::copy_n(places, 4, grid.ptr<float>());
    const cv::Mat out = runOne(sampler({"nearest", "zeros", true}), {map, grid}, {1, 1, 1, 2});
    EXPECT_EQ(out.ptr<float>()[0], 10);
    EXPECT_EQ(out.ptr<float>()[1], 30);
}

// Outside the map, nothing may be read. The map is infinite, so a product with weight 0 would be NaN.
TEST(GridSample, PlacesOutsideOfEveryMap) {
    for (const Sampling& s : samplings()) {
        for (const float far : {3e38f, -3e38f, kInfinity, -kInfinity, 1e9f, -2.2f, kNaN}) {
            cv::Mat map = mat({1, 1, 3, 4}), grid = mat({1, 1, 2, 2});
            map.setTo(kInfinity);
            grid.setTo(0);
            grid.ptr<float>()[0] = far;
            grid.ptr<float>()[3] = far;
            const cv::Mat out = runOne(sampler(s), {map, grid}, {1, 1, 1, 2});
            for (int k : {0, 1})
                EXPECT_EQ(out.ptr<float>()[k], s.padding == "zeros" ? 0 : kInfinity) << far;
        }
    }
}

TEST(GridSample, SameBitsForAnyThreadCountAndInANetwork) {
    const Sizes map = {2, 5, 20, 30}, grid = {2, 40, 50, 2};
    const cv::Mat values = randomBlob(map, 1), places = randomBlob(grid, 2, 0.6);
    const cv::Mat expected = runOne(make("MpmGridSample"), {values, places}, {2, 5, 40, 50});
    const int threads = cv::getNumThreads();
    for (int count : {1, 3}) {
        cv::setNumThreads(count);
        EXPECT_TRUE(sameBits(runOne(make("MpmGridSample"), {values, places}, {2, 5, 40, 50}), expected));
    }
    cv::setNumThreads(threads);
    OnnxModel model;
    model.input("map", map).constant("grid", places, grid);
    model.node("MpmGridSample", {"map", "grid"}, {"out"}, "mpm").attribute("mode", std::string("linear"));
    model.output("out", {2, 5, 40, 50});
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    net.setInput(values, "map");
    EXPECT_TRUE(sameBits(net.forward(), expected));
}

struct ShareCase {
    int images, special, rows, columns, dim, shared;
    cv::Mat policy, fine, coarse;

    ShareCase(int images_, int special_, int rows_, int columns_, int dim_, int shared_, unsigned seed)
        : images(images_), special(special_), rows(rows_), columns(columns_), dim(dim_), shared(shared_) {
        policy = randomBlob({images, 2, rows / 2, columns / 2}, seed);
        fine = randomBlob({images, special + rows * columns, dim}, seed + 1);
        coarse = randomBlob({images, rows * columns / 4, dim}, seed + 2);
    }
    LayerParams params() const {
        LayerParams all = with("grid", listOf({rows, columns}));
        all.set("shared", shared);
        all.set("special_tokens", special);
        return all;
    }
    std::vector<cv::Mat> run() const {
        std::vector<cv::Mat> out = {mat({images, special + rows * columns, dim}),
                                    mat({images, rows * columns})};
        runLayer(make("MpmShare", params()), {policy, fine, coarse}, out);
        return out;
    }
};

// Checks each token against the definition of MpmShare.
void expectShared(const ShareCase& c) {
    const std::vector<cv::Mat> out = c.run();
    const int patches = c.rows * c.columns, superpatches = patches / 4;
    for (int i = 0; i < c.images; ++i) {
        const float* policy = c.policy.ptr<float>(i);
        const auto score = [&](int s) { return policy[superpatches + s] - policy[s]; };
        std::vector<int> ids(superpatches, -1);
        int next = 0;
        for (int patch = 0; patch < patches; ++patch) {
            const int super = patch / c.columns / 2 * (c.columns / 2) + patch % c.columns / 2;
            int before = 0;  // number of superpatches that come before `super`
            for (int s = 0; s < superpatches; ++s)
                before += score(s) > score(super) || (score(s) == score(super) && s < super);
            const bool shares = before < c.shared;
            const float* token = out[0].ptr<float>(i) + (c.special + patch) * c.dim;
            const float* expected = shares ? c.coarse.ptr<float>(i) + super * c.dim
                                           : c.fine.ptr<float>(i) + (c.special + patch) * c.dim;
            ASSERT_TRUE(std::equal(token, token + c.dim, expected)) << patch;
            if (!shares || ids[super] < 0) ids[super] = next++;
            ASSERT_EQ(out[1].ptr<float>(i)[patch], ids[super]) << patch;
        }
        EXPECT_EQ(next, patches - 3 * c.shared);
        EXPECT_TRUE(
            std::equal(out[0].ptr<float>(i), out[0].ptr<float>(i) + c.special * c.dim, c.fine.ptr<float>(i)));
    }
}

TEST(Share, EqualsTheDefinition) {
    unsigned seed = 0;
    for (const int shared : {0, 1, 5, 12}) {
        expectShared({2, 1, 6, 8, 5, shared, ++seed});
        expectShared({1, 0, 2, 24, 3, shared, ++seed});
        expectShared({3, 5, 24, 2, 4, shared, ++seed});
    }
}

TEST(Share, LowestSuperpatchWinsTiesAndNaNIsLast) {
    ShareCase c(1, 1, 4, 6, 3, 2, 7);
    c.policy.setTo(0.5);
    expectShared(c);
    c.policy.ptr<float>()[6] = kNaN;  // the score of superpatch 0 becomes NaN
    const cv::Mat map = c.run()[1];
    const std::vector<float> firstRow(map.ptr<float>(), map.ptr<float>() + 6);
    EXPECT_EQ(firstRow, (std::vector<float>{0, 1, 2, 2, 3, 3}));
}

// An encoder with all tokens and the map of MpmShare must give the results of an encoder that gets each
// shared token once.
TEST(Share, TheEncoderFollowsItsMap) {
    registerLayers();
    EncoderOptions o;
    o.schedule = {1};
    o.imageTokens = 48;
    const EncoderCase plain = makeEncoder(o);
    o.map = true;
    const EncoderCase mapped = makeEncoder(o);
    const ShareCase c(1, 1, 6, 8, o.dim(), 7, 3);
    OnnxModel model;
    model.input("policy", {1, 2, 3, 4}).input("fine", {1, 49, o.dim()}).input("coarse", {1, 12, o.dim()});
    model.node("MpmShare", {"policy", "fine", "coarse"}, {"shared", "map"}, "mpm");
    model.attribute("shared", 7).ints("grid", {6, 8}).attribute("special_tokens", 1);
    addEncoder(model, mapped, {"shared", "map"}, {"tokens"});
    model.output("tokens", {1, 49, o.dim()});
    const std::string bytes = model.bytes();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    mpm::encoder(net).setDevice(Device::Cpu);
    net.setInput(c.policy, "policy");
    net.setInput(c.fine, "fine");
    net.setInput(c.coarse, "coarse");
    const cv::Mat out = net.forward().clone();
    EXPECT_EQ(mpm::encoder(net).report().images[0].tokens[0], 48 - 3 * 7);

    const std::vector<cv::Mat> shared = c.run();
    const int kept = 48 - 3 * 7;
    cv::Mat tokens = mat({1, 1 + kept, o.dim()});
    std::copy_n(shared[0].ptr<float>(), o.dim(), tokens.ptr<float>());
    for (int patch = 0; patch < 48; ++patch) {
        const int id = static_cast<int>(shared[1].ptr<float>()[patch]);
        std::copy_n(shared[0].ptr<float>() + (1 + patch) * o.dim(), o.dim(),
                    tokens.ptr<float>() + (1 + id) * o.dim());
    }
    const std::string short_ = encoderModel(plain, 1, kept).bytes();
    cv::dnn::Net alone = cv::dnn::readNetFromONNX(short_.data(), short_.size());
    mpm::encoder(alone).setDevice(Device::Cpu);
    alone.setInput(tokens);
    const cv::Mat expected = alone.forward();
    for (int row = 0; row < 49; ++row) {
        const int from = row == 0 ? 0 : 1 + static_cast<int>(shared[1].ptr<float>()[row - 1]);
        EXPECT_TRUE(std::equal(out.ptr<float>() + row * o.dim(), out.ptr<float>() + (row + 1) * o.dim(),
                               expected.ptr<float>() + from * o.dim()))
            << row;
    }
}

}  // namespace
}  // namespace mpm::test
