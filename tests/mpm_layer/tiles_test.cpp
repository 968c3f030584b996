// Counts the products that AMX tiles compute. The other suites of this program check the results.
#include "support/tiles/emulated_tiles.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "support/encoder_case.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using namespace kernels;
using emulated_tiles::g_pairProducts;
using emulated_tiles::g_quadProducts;

/// Returns the number of tile products for a product of 40 rows with 70 columns.
long tilesInI8(int depth) {
    const cv::Mat left = randomMatrix(40, depth, 1), right = randomMatrix(depth, 70, 2);
    const size_t stride = paddedStride(quadsOf(depth));
    std::vector<I8Quad> rows(paddedSize(40, stride));
    std::vector<float> scales(40);
    for (int r = 0; r < 40; ++r)
        scales[r] = packQuads(left.ptr<float>(r), depth, rows.data() + r * stride);
    cv::Mat output(40, 70, CV_32F);
    const long before = g_quadProducts;
    productI8(rows.data(), stride, scales.data(), 40, {right.ptr<float>(), 70, depth, 70}, {},
              output.ptr<float>(), 70);
    return g_quadProducts - before;
}

TEST(Tiles, MultiplyBytesWhereTheDepthIsWhole) {
    if (!hasI8() || !hasBf16()) GTEST_SKIP() << "tiles are used where VNNI and bf16 are";
    // Two blocks of 32 rows, three panels of columns, four products of tiles for every 64 elements of depth.
    EXPECT_EQ(tilesInI8(192), 2 * 3 * 4 * 3);
    EXPECT_EQ(tilesInI8(64), 2 * 3 * 4);
    EXPECT_EQ(tilesInI8(61), 2 * 3 * 4) << "the last quad is filled up";
    EXPECT_EQ(tilesInI8(60), 0);
    EXPECT_EQ(tilesInI8(1024), 2 * 3 * 4 * 16) << "more than one pass";
}

TEST(Tiles, AttentionTakesValuesAsColumns) {
    if (!hasBf16()) GTEST_SKIP() << "tiles are used where bf16 is";
    EXPECT_TRUE(takesValuesAsColumns(32));
    EXPECT_TRUE(takesValuesAsColumns(64));
    EXPECT_FALSE(takesValuesAsColumns(80));
}

/// Returns the number of bf16 tile products of an encoder in int8: those of attention.
long pairTilesInI8(int headSize) {
    EncoderOptions options;
    options.blocks = 1, options.heads = 2, options.headSize = headSize, options.hidden = 64;
    const EncoderCase encoder = makeEncoder(options);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([](Settings& settings) { settings.precision = Precision::I8; });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    const cv::Mat batch = makeBatch(options, 1, 40, 1);
    std::vector<cv::Mat> output(1);
    output[0].create(3, batch.size.p, CV_32F);
    const int threads = cv::getNumThreads();
    cv::setNumThreads(1);  // each thread has separate counters
    const long before = g_pairProducts;
    runner.run(batch, cv::Mat(), output);
    cv::setNumThreads(threads);
    return g_pairProducts - before;
}

TEST(Tiles, AttentionOfAnInt8EncoderIsInBf16) {
    if (!hasI8() || !hasBf16()) GTEST_SKIP() << "tiles are used where VNNI and bf16 are";
    // 2 heads, 2 panels of queries, 2 blocks of keys; scores and values have as many products of tiles.
    EXPECT_EQ(pairTilesInI8(64), 2 * 2 * 2 * (4 * 2 + 4 * 2));
    EXPECT_EQ(pairTilesInI8(40), 0) << "no whole tiles";
}

}  // namespace
}  // namespace mpm::test
