// Compares int8 products and attention with f64, within the error bound of quantisation. Sizes are around the
// width of a vector, and rows may contain any values, also NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "left_operand.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using namespace kernels;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const int kI8Sizes[] = {1,  2,  3,  4,  5,  7,  8,  11,  12,  13,  15, 16,
                        17, 31, 32, 33, 47, 48, 49, 191, 192, 193, 257};

/// Rows packed as quads. The memory after each row has noise, which must not change a result. If `least` is
/// set, no value is below it.
struct Quads {
    explicit Quads(const cv::Mat& rows, std::optional<float> least = std::nullopt)
        : stride(paddedStride(quadsOf(rows.cols))),
          quads(paddedSize(rows.rows, stride), 0xA5C3F00Du),
          scales(paddedSize(rows.rows, 1), kNaN) {
        for (int r = 0; r < rows.rows; ++r)
            scales[r] = least ? packQuadsFrom(*least, rows.ptr<float>(r), rows.cols, &quads[r * stride])
                              : packQuads(rows.ptr<float>(r), rows.cols, &quads[r * stride]);
    }

    size_t stride;
    std::vector<I8Quad> quads;
    std::vector<float> scales;
};

/// Multiplies the first `count` rows of `left` with `right`.
cv::Mat multipliedI8(const cv::Mat& left, const cv::Mat& right, int count, const Epilogue& epilogue = {},
                     std::optional<float> least = std::nullopt) {
    const Quads rows(left, least);
    const PackedWeightsI8 weights(right.ptr<float>(), right.cols, left.cols, right.cols, least);
    cv::Mat output(count, right.cols, CV_32F, cv::Scalar(0));
    productI8(rows.quads.data(), rows.stride, rows.scales.data(), count, weights, epilogue,
              output.ptr<float>(), right.cols);
    if (least) cv::add(output, cv::repeat(cv::Mat(weights.least()).reshape(1, 1), count, 1), output);
    return output;
}

/// Returns the quantisation step of each column.
std::vector<float> columnSteps(const cv::Mat& right) {
    const PackedWeightsI8 weights(right.ptr<float>(), right.cols, right.rows, right.cols);
    return {weights.scales(), weights.scales() + right.cols};
}

TEST(I8Product, HasAllStepsInAnOperandAtLeast) {
    const float row[] = {-1, 1};
    I8Quad quad = 0;
    const auto levels = [&](Finer finer) { return std::lround(1 / packQuads(row, 2, &quad, finer)); };
    EXPECT_GE(levels(Finer::Left), 126);
    EXPECT_GE(levels(Finer::Right), 63);
    const cv::Mat outliers = (cv::Mat_<float>(4, 2) << 1, 1, 0, 1, .2, -1, -.1, 1);
    EXPECT_EQ(std::lround(1 / columnSteps(outliers)[0]), 127);
    EXPECT_GE(std::lround(1 / columnSteps(outliers)[1]), 64);
    PackedWeightsI8 columns;
    columns.reshape(1, 1);
    const std::int32_t sum = 0;
    columns.setColumns(0, 1, 1, &sum);
    EXPECT_EQ(std::lround(1 / columns.scales()[0]), 127);
}

/// Checks the error bound: rounding of both operands by half a step each, and rounding in f32.
void checkI8Product(int rows, int depth, int columns, std::optional<float> least = std::nullopt) {
    cv::Mat left = randomMatrix(rows, depth, 1);
    const cv::Mat right = randomMatrix(depth, columns, 2);
    if (least) left = cv::max(left, *least);
    const cv::Mat bias = randomMatrix(1, columns, 3);
    Epilogue epilogue;
    epilogue.bias = bias.ptr<float>();
    const cv::Mat output = multipliedI8(left, right, rows, epilogue, least);
    const Quads quads(left, least);
    const std::vector<float> columnStep = columnSteps(right);
    for (int r = 0; r < rows; ++r) {
        const double step = quads.scales[r];
        for (int n = 0; n < columns; ++n) {
            double sum = bias.at<float>(n), bound = 1e-5;
            for (int k = 0; k < depth; ++k) {
                const double x = left.at<float>(r, k), w = right.at<float>(k, n);
                sum += x * w;
                bound += (std::abs(x) * columnStep[n] + std::abs(w) * step) / 2 + step * columnStep[n] / 4;
            }
            ASSERT_NEAR(output.at<float>(r, n), sum, bound) << rows << "x" << depth << "x" << columns;
        }
    }
}

TEST(I8Product, IsWithinHalfAStepOfEachFactor) {
    for (int size : kI8Sizes) {
        checkI8Product(size, 33, 17);
        checkI8Product(5, size, 40);
        checkI8Product(13, 19, size);
    }
    checkI8Product(50, 777, 100);
}

TEST(I8Product, RowsBehindAnActivationHaveSmallerSteps) {
    for (const float least : {0.0f, -0.171f}) {
        for (int size : kI8Sizes) {
            checkI8Product(size, 33, 17, least);
            checkI8Product(5, size, 40, least);
        }
        const cv::Mat left = cv::max(randomMatrix(9, 100, 1), least);
        EXPECT_LT(Quads(left, least).scales[0], 0.65 * Quads(left).scales[0]);
        cv::Mat rows = cv::repeat(left.row(0), 3, 1);
        rows.row(1) = 0;
        rows.at<float>(2, 50) = kNaN;
        const cv::Mat right = randomMatrix(100, 8, 2), output = multipliedI8(rows, right, 3, {}, least);
        EXPECT_LT(cv::norm(output.row(1), cv::NORM_INF), 1e-5);
        for (int n = 0; n < 8; ++n)
            EXPECT_TRUE(std::isnan(output.at<float>(2, n)));
    }
}

/// Returns values -1, 0 and 1, which int8 represents exactly.
cv::Mat randomSigns(int rows, int columns, unsigned seed) {
    cv::Mat signs = randomMatrix(rows, columns, seed);
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            float& v = signs.at<float>(r, c);
            v = std::abs(v) < 0.4f ? 0.0f : std::copysign(1.0f, v);
        }
    }
    return signs;
}

/// Uses values that int8 represents exactly: a difference is a mistake, such as a byte in the wrong place.
void checkWholeSteps(int rows, int depth, int columns) {
    const cv::Mat left = randomSigns(rows, depth, 1);
    cv::Mat right = randomMatrix(depth, columns, 2, 40.0);
    for (int n = 0; n < columns; ++n) {
        for (int k = 0; k < depth; ++k) {
            float& v = right.at<float>(k, n);
            v = std::clamp(std::round(v), -127.0f, 127.0f);
            // Without VNNI, two neighbouring weights may sum to at most 128 steps.
            if (k % 2 == 1 && std::abs(v + right.at<float>(k - 1, n)) > 128) v = -v;
        }
        // The largest value is 127, so the step is 1.
        right.at<float>(n % depth, n) = n % 2 == 0 ? 127.0f : -127.0f;
        if ((n % depth ^ 1) < depth) right.at<float>(n % depth ^ 1, n) = 0;
    }
    const cv::Mat output = multipliedI8(left, right, rows);
    for (int r = 0; r < rows; ++r) {
        for (int n = 0; n < columns; ++n) {
            double sum = 0;
            for (int k = 0; k < depth; ++k)
                sum += static_cast<double>(left.at<float>(r, k)) * right.at<float>(k, n);
            ASSERT_NEAR(output.at<float>(r, n), sum, 1e-6 * std::abs(sum) + 1e-6)
                << rows << "x" << depth << "x" << columns << " at " << r << ", " << n;
        }
    }
}

TEST(I8Product, WholeStepsLoseNothing) {
    for (int size : kI8Sizes) {
        checkWholeSteps(size, 37, 18);
        checkWholeSteps(7, size, 41);
        checkWholeSteps(14, 22, size);
    }
}

// If every value is a multiple of the step, sums must be exact for any depth. Here, all bytes have the
// largest value, so 16-bit sums would saturate.
TEST(I8Product, SumsOfLargestBytesAreExact) {
    for (int depth : {4, 64, 1408, 6144, 60000}) {
        for (float sign : {1.0f, -1.0f}) {
            const cv::Mat left(7, depth, CV_32F, cv::Scalar(2.5)),
                right(depth, 33, CV_32F, cv::Scalar(sign * 4));
            const cv::Mat output = multipliedI8(left, right, 7);
            const double wanted = sign * 10.0 * depth;
            EXPECT_LT(cv::norm(output, cv::Mat(7, 33, CV_32F, cv::Scalar(wanted)), cv::NORM_INF),
                      2e-6 * std::abs(wanted))
                << depth;
        }
    }
}

TEST(I8Product, BitsDoNotDependOnTheRowsBeside) {
    const cv::Mat left = randomMatrix(26, 70, 1), right = randomMatrix(70, 45, 2);
    const cv::Mat all = multipliedI8(left, right, 26);
    for (int count = 1; count < 26; ++count)
        EXPECT_EQ(cv::norm(multipliedI8(left, right, count), all.rowRange(0, count), cv::NORM_INF), 0)
            << count;
}

TEST(I8Product, RowsOfAnythingStayByThemselves) {
    const int depth = 70;
    cv::Mat left = randomMatrix(8, depth, 1);
    const cv::Mat right = randomMatrix(depth, 45, 2), clean = multipliedI8(left, right, 8);
    left.row(1).setTo(0);
    left.at<float>(2, 5) = 1e30f;
    left.row(3) *= 1e-42;  // denormals
    left.at<float>(4, 69) = kNaN;
    left.at<float>(5, 0) = -kInf;
    left.row(6) *= 1e37;
    const cv::Mat output = multipliedI8(left, right, 8);
    EXPECT_EQ(cv::norm(output.row(0), clean.row(0), cv::NORM_INF), 0);
    EXPECT_EQ(cv::norm(output.row(7), clean.row(7), cv::NORM_INF), 0);
    EXPECT_EQ(cv::countNonZero(output.row(1)), 0) << "zeros make zeros";
    EXPECT_NEAR(output.at<float>(2, 3) / (1e30 * right.at<float>(5, 3)), 1, 0.02);
    for (int n = 0; n < 45; ++n) {
        EXPECT_TRUE(std::isfinite(output.at<float>(3, n)));
        EXPECT_TRUE(std::isnan(output.at<float>(4, n)));
        EXPECT_TRUE(std::isnan(output.at<float>(5, n)));
        EXPECT_TRUE(std::isfinite(output.at<float>(6, n)));
    }
}

TEST(I8Weights, TakeAtMostThreeTenthsOfTheMemoryOfF32) {
    for (const int dim : {192, 384, 768, 1024}) {
        size_t bytes = 0, bytesInF32 = 0;
        for (const auto& [depth, columns] :
             std::vector<std::pair<int, int>>{{dim, 3 * dim}, {dim, dim}, {dim, 4 * dim}, {4 * dim, dim}}) {
            const cv::Mat weights = randomMatrix(depth, columns, 1);
            bytes += kernels::PackedWeightsI8(weights.ptr<float>(), columns, depth, columns).bytes();
            bytesInF32 += kernels::PackedWeights(weights.ptr<float>(), columns, depth, columns).bytes();
        }
        EXPECT_GE(bytesInF32, 12 * dim * dim * sizeof(float));
        EXPECT_LE(bytes, 0.3 * bytesInF32) << dim;
    }
}

TEST(I8Weights, WhatQuantisingLosesIsKnown) {
    const cv::Mat normal = randomMatrix(192, 192, 3);
    const double usual = lossOfI8(normal.ptr<float>(), 192, 192, 192);
    EXPECT_GT(usual, 0.002);
    EXPECT_LT(usual, 0.012);
    cv::Mat outlier = normal.clone();
    for (int n = 0; n < 192; ++n)
        outlier.at<float>(n, n) = 50;  // the step of this column becomes 50 / 127
    EXPECT_NEAR(lossOfI8(outlier.ptr<float>(), 192, 192, 192), 50 / 127.0 / std::sqrt(12.0), 0.01);
    EXPECT_EQ(lossOfI8(cv::Mat(4, 4, CV_32F, cv::Scalar(0)).ptr<float>(), 4, 4, 4), 0);
    outlier.at<float>(3, 3) = kNaN;
    EXPECT_EQ(lossOfI8(outlier.ptr<float>(), 192, 192, 192), kInf);
    const cv::Mat deep(kLargestI8Depth + 1, 1, CV_32F, cv::Scalar(1));
    EXPECT_EQ(lossOfI8(deep.ptr<float>(), 1, deep.rows, 1), kInf);
}

/// The values of a head, packed as quads.
struct PackedValues {
    explicit PackedValues(const cv::Mat& v) : stride(v.cols), steps(2 * v.rows), tokens(v.rows) {
        std::vector<std::int8_t> bytes(4 * (stride + 4), 0);
        for (int t = 0; t < tokens; t += 4) {
            const std::int8_t* rows[4];
            for (int k = 0; k < 4; ++k) {
                std::int8_t* row = &bytes[k * (stride + 4)];
                rows[k] = row;
                if (t + k >= tokens) continue;
                const kernels::ValueStep step = kernels::roundValues(v.ptr<float>(t + k), v.cols, row);
                steps[t + k] = step.bias, steps[tokens + t + k] = step.inverse;
            }
            quads.resize(quads.size() + stride);
            kernels::interleaveBytes(rows, v.cols, &quads[quads.size() - stride]);
        }
    }

    void giveTo(AttentionHeadI8& head) const {
        head.values = quads.data(), head.valueStride = stride;
        head.valueBiases = steps.data(), head.valueInverses = steps.data() + tokens;
    }

    size_t stride;
    std::vector<I8Quad> quads;
    std::vector<float> steps;
    int tokens;
};

/// Computes a head's attention with queries and keys in int8. If `quads`, values are in int8, too.
cv::Mat attended(const cv::Mat& q, const cv::Mat& k, const cv::Mat& v, const cv::Mat& bias, bool quads) {
    const int tokens = q.rows, size = q.cols;
    cv::Mat qkv;
    cv::hconcat(std::vector<cv::Mat>{q, k, v}, qkv);
    const size_t stride = paddedStride(3 * size);
    const LeftOperand rows(qkv, stride);
    const Quads keys(k);
    AttentionHeadI8 head{
        {rows.data(), nullptr, rows.data() + 2 * size, stride, tokens, size,
         0.5f / std::sqrt(static_cast<float>(size)), bias.empty() ? nullptr : bias.ptr<float>()},
        keys.quads.data(),
        keys.stride,
        keys.scales.data()};
    const PackedValues values(v);
    if (quads) values.giveTo(head);
    cv::Mat output(tokens, size, CV_32F);
    for (int first = 0; first < tokens; first += queryPanel())
        attendPanelI8(head, first, output.ptr<float>(first), size);
    return output;
}

cv::Mat attendedInF32(const cv::Mat& q, const cv::Mat& k, const cv::Mat& v, const cv::Mat& bias) {
    const int size = q.cols;
    cv::Mat qkv;
    cv::hconcat(std::vector<cv::Mat>{q, k, v}, qkv);
    const size_t stride = paddedStride(3 * size);
    const LeftOperand rows(qkv, stride);
    const AttentionHead head{rows.data(),
                             rows.data() + size,
                             rows.data() + 2 * size,
                             stride,
                             q.rows,
                             size,
                             0.5f / std::sqrt(static_cast<float>(size)),
                             bias.empty() ? nullptr : bias.ptr<float>()};
    cv::Mat output(q.rows, size, CV_32F);
    for (int first = 0; first < q.rows; first += queryPanel())
        attendPanel(head, first, output.ptr<float>(first), size);
    return output;
}

std::vector<bool> ways() {
    return kernels::takesValueQuads() ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

TEST(I8Attention, IsNearF32) {
    for (bool quads : ways()) {
        for (int tokens : {1, 2, 11, 12, 13, 31, 32, 33, 65, 241, 500}) {
            for (int size : {1, 5, 8, 16, 24, 32, 48, 64, 80, 88, 96, 128}) {
                const cv::Mat q = randomMatrix(tokens, size, 1), k = randomMatrix(tokens, size, 2),
                              v = randomMatrix(tokens, size, 3);
                const cv::Mat bias = tokens % 2 == 0 ? randomMatrix(1, tokens, 9) : cv::Mat();
                const double error =
                    cv::norm(attended(q, k, v, bias, quads), attendedInF32(q, k, v, bias), cv::NORM_INF);
                ASSERT_LT(error, 0.08) << tokens << " tokens, head of " << size;
            }
        }
    }
}

// int8 represents these queries and keys exactly, so scores equal those in f32. Only weights have errors.
TEST(I8Attention, ScoresOfWholeStepsGiveTheWeightsOfF32) {
    for (int tokens : {13, 100, 250}) {
        for (int size : {5, 24, 64}) {
            const cv::Mat q = randomSigns(tokens, size, 1) * 2.5, k = randomSigns(tokens, size, 2) * 1.5,
                          v = randomMatrix(tokens, size, 3);
            const cv::Mat bias = tokens % 2 == 0 ? randomMatrix(1, tokens, 9) : cv::Mat();
            const cv::Mat wanted = attendedInF32(q, k, v, bias);
            EXPECT_LT(cv::norm(attended(q, k, v, bias, false), wanted, cv::NORM_INF), 1e-3) << tokens;
            for (bool quads : ways())
                EXPECT_LT(cv::norm(attended(q, k, v, bias, quads), wanted, cv::NORM_INF), 2e-2) << tokens;
        }
    }
}

// A single key has about half of the total weight. The weights of the other 999 keys are small, but must not
// be rounded to 0.
TEST(I8Attention, ManySmallWeightsKeepTheirSum) {
    const int tokens = 1000, size = 64;
    const cv::Mat none(tokens, size, CV_32F, cv::Scalar(0)), v = randomMatrix(tokens, size, 3) + 1;
    cv::Mat bias = randomMatrix(1, tokens, 9, 0.3);
    bias.at<float>(500) += 7;
    const cv::Mat wanted = attendedInF32(none, none, v, bias);
    for (bool quads : ways())
        EXPECT_LT(cv::norm(attended(none, none, v, bias, quads), wanted, cv::NORM_INF), 4e-2) << quads;
}

TEST(I8Attention, AKeyThatIsHiddenWeighsNothing) {
    const int tokens = 100, size = 32;
    const cv::Mat q = randomMatrix(tokens, size, 1);
    cv::Mat k = randomMatrix(tokens, size, 2), v = randomMatrix(tokens, size, 3);
    cv::Mat bias(1, tokens, CV_32F, cv::Scalar(0));
    bias.colRange(40, 60).setTo(-kInf);
    for (bool quads : ways()) {
        const cv::Mat before = attended(q, k, v, bias, quads);
        v.rowRange(40, 60).setTo(1e6);
        EXPECT_EQ(cv::norm(attended(q, k, v, bias, quads), before, cv::NORM_INF), 0);
        v.rowRange(40, 60).setTo(0);
    }
}

TEST(I8Attention, AQueryThatIsNotFiniteSpoilsItselfOnly) {
    const int tokens = 70, size = 64;
    cv::Mat q = randomMatrix(tokens, size, 1);
    const cv::Mat k = randomMatrix(tokens, size, 2), v = randomMatrix(tokens, size, 3);
    for (bool quads : ways()) {
        const cv::Mat clean = attended(q, k, v, {}, quads);
        q.at<float>(33, 7) = kNaN;
        const cv::Mat output = attended(q, k, v, {}, quads);
        EXPECT_TRUE(std::isnan(output.at<float>(33, 0)));
        EXPECT_EQ(cv::norm(output.rowRange(0, 33), clean.rowRange(0, 33), cv::NORM_INF), 0);
        EXPECT_EQ(cv::norm(output.rowRange(34, tokens), clean.rowRange(34, tokens), cv::NORM_INF), 0);
        q.at<float>(33, 7) = 0.1f;
    }
}

}  // namespace
}  // namespace mpm::test
