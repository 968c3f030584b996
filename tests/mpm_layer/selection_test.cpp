// Compares MpmTopK and MpmGatherRows with a stable sort; also ties, NaN, and input that the converter never
// writes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <opencv2/core/utility.hpp>

#include "mpm_layer/hostile_fixture.hpp"
#include "support/encoder_case.hpp"
#include "support/onnx_model.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

const float kNotANumber = std::nanf("");
constexpr float kEndless = std::numeric_limits<float>::infinity();

LayerParams topK(int k, bool flatten = false) {
    LayerParams params = with("k", DictValue(k));
    if (flatten) params.set("flatten", 1);
    return params;
}

struct Selected {
    std::vector<float> values;
    std::vector<int> indices;
};

std::vector<int> integersOf(const cv::Mat& m) {
    std::vector<int> all(m.total());
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<int>(m.depth() == CV_32F ? m.ptr<float>()[i]
                                                      : reinterpret_cast<const std::int64_t*>(m.data)[i]);
    return all;
}

Selected select(const LayerParams& params, const cv::Mat& scores, int k) {
    std::vector<cv::Mat> out = {mat({scores.size[0], k}), mat({scores.size[0], k})};
    runLayer(make("MpmTopK", params), {scores}, out);
    return {{out[0].ptr<float>(), out[0].ptr<float>() + out[0].total()}, integersOf(out[1])};
}

/// Returns the indices of the k largest scores with a stable sort. NaN counts as the smallest.
std::vector<int> sortedIndices(const std::vector<float>& scores, int k) {
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        if (std::isnan(scores[a]) || std::isnan(scores[b]))
            return !std::isnan(scores[a]) && std::isnan(scores[b]);
        return scores[a] > scores[b];
    });
    order.resize(k);
    return order;
}

void expectSelected(const cv::Mat& scores, int k, bool flatten) {
    const Selected found = select(topK(k, flatten), scores, k);
    const int images = scores.size[0], classes = scores.dims == 3 ? scores.size[2] : 1,
              all = static_cast<int>(scores.total() / images);
    for (int i = 0; i < images; ++i) {
        std::vector<float> own(scores.ptr<float>() + i * all, scores.ptr<float>() + (i + 1) * all);
        if (!flatten) {
            std::vector<float> largest(all / classes, kNotANumber);
            for (int s = 0; s < all; ++s)
                if (!(largest[s / classes] >= own[s]) && !std::isnan(own[s])) largest[s / classes] = own[s];
            own = largest;
        }
        const std::vector<int> expected = sortedIndices(own, k);
        for (int n = 0; n < k; ++n) {
            ASSERT_EQ(found.indices[i * k + n], expected[n]) << "image " << i << ", place " << n;
            const float value = found.values[i * k + n], wanted = own[expected[n]];
            ASSERT_TRUE(value == wanted || (std::isnan(value) && std::isnan(wanted))) << n;
        }
    }
}

TEST(TopK, EqualsAStableSort) {
    unsigned seed = 0;
    for (const int count : {1, 2, 7, 300, 1024}) {
        for (const int classes : {0, 1, 3, 80}) {
            const Sizes sizes = classes == 0 ? Sizes{2, count} : Sizes{2, count, classes};
            cv::Mat scores = randomMatrix(1, 2 * count * std::max(classes, 1), ++seed)
                                 .reshape(1, static_cast<int>(sizes.size()), sizes.data());
            for (const int k : {1, (count + 1) / 2, count}) {
                expectSelected(scores, k, false);
                expectSelected(scores, k, true);
            }
            // There are few different values, so many are equal; some are NaN or infinite.
            for (size_t i = 0; i < scores.total(); ++i) {
                float& s = scores.ptr<float>()[i];
                s = i % 11 == 5   ? kNotANumber
                    : i % 13 == 4 ? kEndless
                    : i % 17 == 2 ? -kEndless
                                  : std::round(s);
            }
            expectSelected(scores, count, false);
            expectSelected(scores, (count + 1) / 2, true);
        }
    }
}

TEST(TopK, EqualScoresAreInTheOrderOfTheirIndices) {
    const Selected found = select(topK(5), mat({1, 6}), 5);
    EXPECT_EQ(found.indices, (std::vector<int>{0, 1, 2, 3, 4}));
    cv::Mat zeros = mat({1, 4});
    const float values[] = {-0.0f, 0.0f, -0.0f, 1.0f};
    std::copy_n(values, 4, zeros.ptr<float>());
    EXPECT_EQ(select(topK(4), zeros, 4).indices, (std::vector<int>{3, 0, 1, 2}));
}

TEST(TopK, NaNFollowsAllNumbersAndARowOfClassesIgnoresIt) {
    cv::Mat scores = mat({1, 4, 2});
    const float values[] = {kNotANumber, kNotANumber, -kEndless, kNotANumber, kNotANumber, 3, 2, 2};
    std::copy_n(values, 8, scores.ptr<float>());
    const Selected best = select(topK(4), scores, 4);
    EXPECT_EQ(best.indices, (std::vector<int>{2, 3, 1, 0}));
    EXPECT_EQ(best.values[2], -kEndless);
    EXPECT_TRUE(std::isnan(best.values[3]));
    EXPECT_EQ(select(topK(8, true), scores, 8).indices, (std::vector<int>{5, 6, 7, 2, 0, 1, 3, 4}));
}

TEST(TopK, TakesAMillionScores) {
    constexpr int kCount = 1000000;
    cv::Mat scores(1, kCount, CV_32F);
    for (int i = 0; i < kCount; ++i)
        scores.ptr<float>()[i] = static_cast<float>(i % 1000);
    const Selected found = select(topK(3), scores, 3);
    EXPECT_EQ(found.indices, (std::vector<int>{999, 1999, 2999}));
}

TEST(TopK, RejectsOtherShapesAndCounts) {
    const auto shapes = [](const LayerParams& params, const Sizes& scores) {
        return shapesFor(make("MpmTopK", params), {scores});
    };
    EXPECT_EQ(shapes(topK(4), {2, 4, 3})[1], toShape({2, 4}));
    EXPECT_EQ(shapes(topK(12, true), {2, 4, 3})[0], toShape({2, 12}));
    expectRefusal([&] { shapes(topK(5), {2, 4, 3}); }, "attribute k is 5, but there are 4 scores");
    expectRefusal([&] { shapes(topK(13, true), {2, 4, 3}); }, "there are 12 scores");
    expectRefusal([&] { shapes(topK(1), {2, 0}); }, "MpmTopK takes scores");
    expectRefusal([&] { shapes(topK(1), {2, 4, 0}); }, "MpmTopK takes scores");
    expectRefusal([&] { shapes(topK(1), {4}); }, "MpmTopK takes scores");
    expectRefusal([&] { shapes(topK(1), {1, 2, 3, 4}); }, "MpmTopK takes scores");
    expectRefusal(
        [&] {
            shapesFor(make("MpmTopK", topK(1)), {{1, 4}, {1, 4}});
        },
        "MpmTopK takes 1 to 1 inputs");
    expectRefusal([&] { make("MpmTopK"); }, "attribute k must be");
    for (const int k : {0, -1, -kLargest - 1})
        expectRefusal([&] { make("MpmTopK", topK(k)); }, "attribute k must be");
    LayerParams params = topK(1);
    params.set("flatten", 2);
    expectRefusal([&] { make("MpmTopK", params); }, "attribute flatten must be");
}

TEST(TopK, IndicesAreExact) {
    constexpr int kMost = 1 << 24;
    const cv::Ptr<Layer> layer = make("MpmTopK", topK(1)), flat = make("MpmTopK", topK(1, true));
    EXPECT_NO_THROW(shapesFor(layer, {{1, kMost + 1}}));
    EXPECT_NO_THROW(shapesFor(layer, {{1, kMost / 2, 80}}));
#if CV_VERSION_MAJOR < 5
    expectRefusal([&] { shapesFor(layer, {{1, kMost + 2}}); }, "exact up to 16777216");
    expectRefusal([&] { shapesFor(flat, {{1, kMost / 64, 80}}); }, "exact up to 16777216");
#else
    EXPECT_NO_THROW(shapesFor(flat, {{1, kMost / 64, 80}}));
#endif
}

cv::Mat indicesOf(const Sizes& sizes, const std::vector<float>& values) {
    cv::Mat m = mat(sizes);
    std::copy(values.begin(), values.end(), m.ptr<float>());
    return m;
}

TEST(GatherRows, CopiesRowsOfEachImage) {
    const Sizes sizes = {2, 5, 3}, shared = {1, 5, 3};
    const cv::Mat own = randomMatrix(1, 30, 1).reshape(1, 3, sizes.data()),
                  common = randomMatrix(1, 15, 2).reshape(1, 3, shared.data()),
                  indices = indicesOf({2, 4}, {4, 0, 0, 3, 1, 2, 4, 4});
    for (const cv::Mat& data : {own, common}) {
        std::vector<cv::Mat> out = {mat({2, 4, 3})}, turned = {mat({2, 4, 3})};
        runLayer(make("MpmGatherRows"), {data, indices}, out);
        for (int i = 0; i < 8; ++i) {
            const float* row = data.ptr<float>(data.size[0] == 1 ? 0 : i / 4) +
                               static_cast<int>(indices.ptr<float>()[i]) * 3;
            EXPECT_TRUE(std::equal(row, row + 3, out[0].ptr<float>() + i * 3)) << i;
        }
        LayerParams constant;  // OpenCV 4.x passes constants as blobs
        constant.blobs = {data};
        runLayer(make("MpmGatherRows", constant), {indices}, turned);
        EXPECT_TRUE(sameBits(out[0], turned[0]));
    }
}

TEST(GatherRows, CopiesInfiniteAnchorsAndNaN) {
    cv::Mat data = mat({1, 3, 4});
    std::fill_n(data.ptr<float>(), 4, kEndless);
    data.ptr<float>()[5] = kNotANumber;
    std::vector<cv::Mat> out = {mat({1, 3, 4})};
    runLayer(make("MpmGatherRows"), {data, indicesOf({1, 3}, {0, 1, 2})}, out);
    EXPECT_TRUE(sameBits(out[0], data));
}

TEST(GatherRows, NeverReadsOutsideOfTheData) {
    const cv::Mat data = mat({1, 3, 4});
    std::vector<cv::Mat> out = {mat({1, 1, 4})};
    for (const float bad : {-1.0f, 3.0f, 1e9f, 4e9f, -4e9f, 0.5f, kNotANumber, kEndless, -kEndless}) {
        expectRefusal(
            [&] {
                runLayer(make("MpmGatherRows"), {data, indicesOf({1, 1}, {bad})}, out);
            },
            "index 0 must be a whole number of 0..2");
    }
    const auto shapes = [](const Sizes& from, const Sizes& indices) {
        return shapesFor(make("MpmGatherRows"), {from, indices});
    };
    EXPECT_EQ(shapes({1, 3, 4}, {2, 7})[0], toShape({2, 7, 4}));
    EXPECT_EQ(shapes({2, 7}, {1, 3, 4})[0], toShape({2, 7, 4}));
    for (const Sizes& from : {Sizes{3, 4}, {3, 3, 4}, {1, 1, 3, 4}, {4}})
        expectRefusal([&] { shapes(from, {2, 7}); }, "MpmGatherRows takes data");
    for (const Sizes& indices : {Sizes{7}, {2, 7, 1}, {0, 7, 1}})
        expectRefusal([&] { shapes({1, 3, 4}, indices); }, "MpmGatherRows takes data");
    expectRefusal([&] { shapes({1, 0, 65536}, {65536, 65536}); }, "sizes must");
    expectRefusal(
        [&] {
            shapesFor(make("MpmGatherRows"), {{1, 3, 4}});
        },
        "MpmGatherRows takes 2 to 2 inputs");
}

// A network selects rows as detectors do, also from constant anchors. The result must not depend on the
// number of threads.
TEST(GatherRows, FollowsTopKInANetwork) {
    registerLayers();
    constexpr int kPlaces = 40, kClasses = 5, kBest = 7;
    const Sizes sizes = {2, kPlaces, kClasses}, anchorSizes = {1, kPlaces, 4};
    const cv::Mat scores = randomMatrix(1, 2 * kPlaces * kClasses, 3).reshape(1, 3, sizes.data()),
                  anchors = randomMatrix(1, kPlaces * 4, 4).reshape(1, 3, anchorSizes.data());
    OnnxModel model;
    model.input("scores", sizes).constant("anchors", anchors, anchorSizes);
    model.node("MpmTopK", {"scores"}, {"best", "places"}, "mpm").attribute("k", kBest);
    model.node("MpmGatherRows", {"anchors", "places"}, {"boxes"}, "mpm");
    model.node("MpmGatherRows", {"scores", "places"}, {"classes"}, "mpm");
    model.output("best", {2, kBest}).output("boxes", {2, kBest, 4}).output("classes", {2, kBest, kClasses});
    const std::string bytes = model.bytes();
    const Selected expected = select(topK(kBest), scores, kBest);
    for (const int threads : {1, 2}) {
        cv::setNumThreads(threads);
        cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
        net.setInput(scores);
        std::vector<cv::Mat> out;
        net.forward(out, std::vector<cv::String>{"best", "boxes", "classes"});
        for (int i = 0; i < 2 * kBest; ++i) {
            const int image = i / kBest, place = expected.indices[i];
            EXPECT_EQ(out[0].ptr<float>()[i], expected.values[i]);
            EXPECT_TRUE(std::equal(out[1].ptr<float>() + i * 4, out[1].ptr<float>() + (i + 1) * 4,
                                   anchors.ptr<float>() + place * 4));
            EXPECT_TRUE(std::equal(out[2].ptr<float>() + i * kClasses,
                                   out[2].ptr<float>() + (i + 1) * kClasses,
                                   scores.ptr<float>(image) + place * kClasses));
        }
    }
    cv::setNumThreads(-1);
}

}  // namespace
}  // namespace mpm::test
