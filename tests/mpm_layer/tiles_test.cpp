// Counts the products that AMX tiles compute. The other suites of this program check the results.
#include "support/tiles/emulated_tiles.hpp"

#include <cmath>
#include <limits>
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

constexpr int kRowsOfBytes = 40;

/// Converts a row of pairs to floats.
void unpackPairs(const Bf16Pair* pairs, int width, float* row) {
    for (int k = 0; k < width; ++k)
        row[k] = emulated_tiles::fromBits(k % 2 == 0 ? pairs[k / 2] << 16 : pairs[k / 2] & 0xFFFF0000u);
}

void expectSame(float found, float wanted) {
    EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted))) << found << ", " << wanted;
}

struct ByteRows {
    explicit ByteRows(const cv::Mat& left)
        : stride(paddedStride(quadsOf(left.cols))),
          rows(paddedSize(kRowsOfBytes, stride)),
          scales(kRowsOfBytes) {
        for (int r = 0; r < kRowsOfBytes; ++r)
            scales[r] = packQuads(left.ptr<float>(r), left.cols, rows.data() + r * stride);
    }

    /// Writes the product to `output`: address and stride of floats, or PairRows.
    template <class... Output>
    void multiply(const cv::Mat& right, const Epilogue& epilogue, const Output&... output) const {
        const PackedWeightsI8 weights(right.ptr<float>(), right.cols, right.rows, right.cols);
        productI8(rows.data(), stride, scales.data(), kRowsOfBytes, weights, epilogue, output...);
    }

    size_t stride;
    std::vector<I8Quad> rows;
    std::vector<float> scales;
};

/// Returns the number of tile products for a product with 70 columns.
long tilesInI8(int depth) {
    const ByteRows left(randomMatrix(kRowsOfBytes, depth, 1));
    cv::Mat output(kRowsOfBytes, 70, CV_32F);
    const long before = g_quadProducts;
    left.multiply(randomMatrix(depth, 70, 2), {}, output.ptr<float>(), 70);
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

// A product in int8 can write pairs of bf16. These pairs must equal the f32 output, rounded to bf16. GELU has
// a tolerance, because a small error of GELU may change the rounding.
TEST(Tiles, PairsAreTheRoundedSumsOfBytes) {
    if (!hasI8() || !hasBf16()) GTEST_SKIP() << "tiles are used where VNNI and bf16 are";
    const int depth = 192;
    EXPECT_TRUE(productI8WritesPairs(depth));
    EXPECT_FALSE(productI8WritesPairs(depth + 4)) << "not in tiles";
    cv::Mat left = randomMatrix(kRowsOfBytes, depth, 1);
    left.at<float>(5, 7) = std::numeric_limits<float>::quiet_NaN();
    const ByteRows quads(left);
    for (const int columns : {1, 2, 31, 32, 33, 95}) {
        const cv::Mat right = randomMatrix(depth, columns, 2), factors = randomMatrix(1, columns, 3);
        const int pairs = pairsOf(columns);
        for (const Activation activation : {Activation::None, Activation::Gelu}) {
            Epilogue epilogue;
            epilogue.activation = activation;
            epilogue.scale = factors.ptr<float>();
            cv::Mat sums(kRowsOfBytes, columns, CV_32F), found = sums.clone();
            std::vector<Bf16Pair> output(static_cast<size_t>(kRowsOfBytes) * pairs, ~0u), rounded(pairs);
            quads.multiply(right, epilogue, sums.ptr<float>(), columns);
            quads.multiply(right, epilogue, PairRows{output.data(), static_cast<size_t>(pairs)});
            for (int r = 0; r < kRowsOfBytes; ++r) {
                packPairs(sums.ptr<float>(r), columns, rounded.data());
                unpackPairs(rounded.data(), columns, sums.ptr<float>(r));
                unpackPairs(&output[static_cast<size_t>(r) * pairs], columns, found.ptr<float>(r));
                for (int n = 0; n < columns; ++n) {
                    const float value = found.at<float>(r, n), wanted = sums.at<float>(r, n);
                    const float coarse = 2e-4f + std::abs(wanted) / 128;
                    ASSERT_EQ(std::isnan(value), r == 5);
                    if (r == 5) continue;
                    ASSERT_NEAR(value, wanted, activation == Activation::None ? 0 : coarse) << columns;
                }
            }
        }
    }
}

TEST(Tiles, RowsOfPairsBecomeTheBytesOfTheirValues) {
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    for (const int width : {1, 2, 15, 16, 17, 33, 192}) {
        for (const float special : {0.0f, -9.0f, 9.0f, infinity, -infinity, nan, -nan}) {
            cv::Mat row = randomMatrix(1, width, static_cast<unsigned>(width));
            if (special != 0) row.at<float>(width / 2) = special;
            if (special == -9) row = -cv::abs(row);
            std::vector<Bf16Pair> pairs(pairsOf(width));
            packPairs(row.ptr<float>(), width, pairs.data());
            std::vector<float> values(width);
            unpackPairs(pairs.data(), width, values.data());
            std::vector<I8Quad> found(quadsOf(width) + 1, 77u), wanted = found;
            float step = packQuads(values.data(), width, wanted.data());
            expectSame(packQuads(pairs.data(), width, found.data()), step);
            EXPECT_EQ(found, wanted) << width << ", " << special;
            for (float& value : values)
                if (value < -0.5f) value = -0.5f;
            step = packQuadsFrom(-0.5f, values.data(), width, wanted.data());
            expectSame(packQuadsFrom(-0.5f, pairs.data(), width, found.data()), step);
            EXPECT_EQ(found, wanted) << width << ", " << special;
        }
    }
}

TEST(Tiles, AttentionTakesValuesAsColumns) {
    if (!hasBf16()) GTEST_SKIP() << "tiles are used where bf16 is";
    EXPECT_TRUE(takesValuesAsColumns(32));
    EXPECT_TRUE(takesValuesAsColumns(64));
    EXPECT_FALSE(takesValuesAsColumns(80));
}

/// Returns the number of bf16 tile products of an encoder in int8. Only attention has such products.
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
    // 2 heads, 2 panels of queries, 2 blocks of keys; 8 products of tiles for scores and 8 for values.
    EXPECT_EQ(pairTilesInI8(64), 2 * 2 * 2 * (4 * 2 + 4 * 2));
    EXPECT_EQ(pairTilesInI8(40), 0) << "no whole tiles";
}

}  // namespace
}  // namespace mpm::test
