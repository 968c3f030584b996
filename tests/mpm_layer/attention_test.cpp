// Compares the attention kernel in f32 with scalar loops, and the kernel in bf16 with the kernel in f32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "left_operand.hpp"
#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using namespace kernels;

/// Returns a head whose queries, keys and values are side by side in `rows`. `bias` has a value for each key,
/// or is empty.
AttentionHead headOf(const LeftOperand& rows, size_t stride, int tokens, int size, float scale,
                     const cv::Mat& bias) {
    AttentionHead head{rows.data(), rows.data() + size, rows.data() + 2 * size, stride, tokens, size, scale};
    if (!bias.empty()) head.keyBias = bias.ptr<float>();
    return head;
}

void checkAttention(int tokens, int size, const cv::Mat& bias) {
    const size_t stride = paddedStride(3 * size);
    const cv::Mat qkv = randomMatrix(tokens, 3 * size, tokens + size, 2.0);
    const LeftOperand rows(qkv, stride);
    const AttentionHead head =
        headOf(rows, stride, tokens, size, 0.5f / std::sqrt(static_cast<float>(size)), bias);
    // A sum that begins with a large bias is rounded to the spacing of f32 near the bias.
    const double largest = bias.empty() ? 0 : cv::norm(cv::max(bias, -1e6f), cv::NORM_INF);
    const double tolerance = 2e-5 + 2e-6 * (largest < 1e6 ? largest : 0);
    cv::Mat output(tokens, size, CV_32F);
    for (int q = 0; q < tokens; q += queryPanel())
        attendPanel(head, q, output.ptr<float>(q), size);
    for (int q = 0; q < tokens; ++q) {
        std::vector<double> weight(tokens);
        double highest = -1e300, total = 0;
        for (int k = 0; k < tokens; ++k) {
            double logit = 0;
            for (int i = 0; i < size; ++i)
                logit += static_cast<double>(qkv.at<float>(q, i)) * qkv.at<float>(k, size + i);
            weight[k] = logit * head.scale + (bias.empty() ? 0 : bias.at<float>(k));
            highest = std::max(highest, weight[k]);
        }
        for (double& w : weight)
            total += w = std::exp(w - highest);
        for (int i = 0; i < size; ++i) {
            double wanted = 0;
            for (int k = 0; k < tokens; ++k)
                wanted += weight[k] / total * qkv.at<float>(k, 2 * size + i);
            ASSERT_NEAR(output.at<float>(q, i), wanted, tolerance) << tokens << " tokens, head of " << size;
        }
    }
}

TEST(Attention, EqualsScalarLoops) {
    for (int tokens : {1, 2, 11, 12, 13, 31, 32, 33, 65}) {
        for (int size : {1, 5, 8, 16, 24, 32, 48, 64, 80, 88, 96, 128})
            checkAttention(tokens, size, tokens % 2 == 0 ? randomMatrix(1, tokens, 9) : cv::Mat());
    }
    for (int tokens : {239, 240, 241, 500})
        checkAttention(tokens, 32, randomMatrix(1, tokens, 9));  // near multiples of a block of keys
}

/// Returns a bias for each key. The bias rises by `step` from key to key.
cv::Mat ramp(int tokens, float step) {
    cv::Mat bias(1, tokens, CV_32F);
    for (int k = 0; k < tokens; ++k)
        bias.at<float>(k) = static_cast<float>(k) * step;
    return bias;
}

// The kernel divides weights by exp(peak). If scores exceed the peak, the kernel raises the peak in steps.
// The scores in this test rise slowly, rise fast, or fall.
TEST(Attention, ScoresThatClimb) {
    for (float step : {0.01f, 0.3f, 1.0f, 20.0f, -0.3f, -20.0f})
        checkAttention(500, 32, ramp(500, step));
    cv::Mat masked = randomMatrix(1, 300, 3);
    masked.colRange(0, 40).setTo(-std::numeric_limits<float>::infinity());
    masked.colRange(200, 300).setTo(-std::numeric_limits<float>::infinity());
    checkAttention(300, 16, masked);
}

/// A head with keys and values in f32 and in bf16.
struct HeadOperands {
    HeadOperands(const cv::Mat& q, const cv::Mat& k, const cv::Mat& v, const cv::Mat& bias)
        : tokens(q.rows),
          size(q.cols),
          stride(paddedStride(3 * q.cols)),
          rows(joined(q, k, v), stride),
          bias(bias) {
        if (!hasBf16()) return;
        queries = packed(q, scale * kLog2E);
        keys = packed(k, 1);
        const std::vector<Bf16Pair> valueRows = packed(v, 1);
        const int pairs = (pairsOf(tokens) + kValuePairs - 1) / kValuePairs * kValuePairs;
        valueStride = static_cast<size_t>(columns ? pairs : size);
        values.resize(static_cast<size_t>(columns ? size : pairs) * valueStride, kNoise);
        for (int p = 0; p < pairsOf(tokens); p += kValuePairs) {
            const ConstPairRows own{valueRows.data(), static_cast<size_t>(pairsOf(size))};
            packValues(own.from(2 * p), std::min(2 * kValuePairs, tokens - 2 * p), size, columns,
                       &values[columns ? p : p * valueStride], valueStride);
        }
    }

    static std::vector<Bf16Pair> packed(const cv::Mat& rows, float factor) {
        const int pairs = pairsOf(rows.cols);
        std::vector<Bf16Pair> all(paddedSize(rows.rows, pairs), kNoise);
        for (int r = 0; r < rows.rows; ++r)
            packPairs(rows.ptr<float>(r), rows.cols, &all[static_cast<size_t>(r) * pairs], factor);
        return all;
    }

    static cv::Mat joined(const cv::Mat& q, const cv::Mat& k, const cv::Mat& v) {
        cv::Mat qkv;
        cv::hconcat(std::vector<cv::Mat>{q, k, v}, qkv);
        return qkv;
    }

    cv::Mat attend(bool half) const {
        const AttentionHead head = headOf(rows, stride, tokens, size, scale, bias);
        const size_t pairStride = static_cast<size_t>(pairsOf(size));
        const AttentionHeadBf16 pairs{
            head,   {queries.data(), pairStride}, {keys.data(), pairStride}, values.data(), valueStride,
            columns};
        cv::Mat output(tokens, size, CV_32F);
        for (int first = 0; first < tokens; first += queryPanel()) {
            if (half) {
                attendPanelBf16(pairs, first, output.ptr<float>(first), size);
            } else {
                attendPanel(head, first, output.ptr<float>(first), size);
            }
        }
        return output;
    }

    static constexpr Bf16Pair kNoise = 0x7fc07fc0;  // a pair of NaN

    int tokens, size;
    float scale = 0.4f / std::sqrt(static_cast<float>(size));
    bool columns = takesValuesAsColumns(size);
    size_t stride, valueStride = 0;
    LeftOperand rows;
    cv::Mat bias;
    std::vector<Bf16Pair> queries, keys, values;
};

// Compares with the f32 kernel: results may differ only by rounding to bf16, which has 8 bits of precision.
void checkAttentionBf16(int tokens, int size, const cv::Mat& bias) {
    const cv::Mat v = randomMatrix(tokens, size, 3);
    const HeadOperands head(randomMatrix(tokens, size, 1), randomMatrix(tokens, size, 2), v, bias);
    EXPECT_LT(cv::norm(head.attend(true), head.attend(false), cv::NORM_INF), 0.02 * cv::norm(v, cv::NORM_INF))
        << tokens << " tokens, head of " << size;
}

// The other rows of a panel may belong to another image. They must not change the bits of a result.
void checkNeighbours(bool half) {
    const cv::Mat q = randomMatrix(100, 32, 1), k = randomMatrix(100, 32, 2, 2.0),
                  v = randomMatrix(100, 32, 3);
    q.row(3).copyTo(q.row(99));
    cv::Mat loud = q * 50;
    q.row(5).copyTo(loud.row(5));
    const cv::Mat quiet = HeadOperands(q, k, v, {}).attend(half),
                  noisy = HeadOperands(loud, k, v, {}).attend(half);
    EXPECT_EQ(cv::norm(quiet.row(5), noisy.row(5), cv::NORM_INF), 0);
    EXPECT_GT(cv::norm(quiet.row(6), noisy.row(6), cv::NORM_INF), 0);
    // Queries 3 and 99 are equal. In f32, the kernel computes only half of the incomplete panel of query 99.
    EXPECT_EQ(cv::norm(quiet.row(3), quiet.row(99), cv::NORM_INF), 0);
}

// With equal weights, the result is the mean of all values. If the kernel added all values to a single sum,
// the error would be 4e-6.
TEST(Attention, RoundsLittleWithManyKeys) {
    constexpr int kTokens = 4000, kSize = 32;
    const cv::Mat zero = cv::Mat::zeros(kTokens, kSize, CV_32F);
    const cv::Mat v = 2 + randomMatrix(kTokens, kSize, 1);
    cv::Mat mean, wide;
    v.convertTo(wide, CV_64F);
    cv::reduce(wide, mean, 0, cv::REDUCE_AVG);
    const cv::Mat found = HeadOperands(zero, zero, v, {}).attend(false);
    cv::Mat first;
    found.row(0).convertTo(first, CV_64F);
    EXPECT_LT(cv::norm(first, mean, cv::NORM_INF), 1e-6);
}

TEST(Attention, BitsDoNotDependOnNeighbours) {
    checkNeighbours(false);
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    checkNeighbours(true);
}

TEST(Attention, Bf16EqualsF32ButForRounding) {
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    for (int tokens : {1, 2, 13, 31, 33, 241, 500}) {
        for (int size : {1, 5, 16, 24, 64, 80, 128, 320})
            checkAttentionBf16(tokens, size, tokens % 2 == 0 ? randomMatrix(1, tokens, 9) : cv::Mat());
    }
    for (float step : {0.01f, 0.3f, 1.0f, 20.0f, -0.3f, -20.0f})
        checkAttentionBf16(500, 32, ramp(500, step));
}

// The first keys determine the peak, and all weights are relative to the peak. Here, the first keys are
// masked, or have scores far above or below those of the other keys.
TEST(Attention, Bf16BeginsWithKeysThatDoNotCount) {
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    for (int size : {32, 64, 96, 128}) {
        for (float first : {-std::numeric_limits<float>::infinity(), -3e4f, -400.0f, 400.0f}) {
            for (int hidden : {1, 31, 32, 64, 97}) {
                cv::Mat bias(1, 200, CV_32F, cv::Scalar(-300));
                bias.colRange(0, hidden) = first;
                checkAttentionBf16(200, size, bias);
            }
        }
    }
}

TEST(Attention, LargeLogitsStayFinite) {
    const size_t stride = paddedStride(24);
    cv::Mat qkv = randomMatrix(300, 24, 1, 1.0);
    qkv.colRange(0, 16) *= 300;
    const LeftOperand rows(qkv, stride);
    const AttentionHead head = headOf(rows, stride, 300, 8, 1.0f, {});
    cv::Mat output(300, 8, CV_32F);
    for (int q = 0; q < 300; q += queryPanel())
        attendPanel(head, q, output.ptr<float>(q), 8);
    EXPECT_TRUE(cv::checkRange(output));
}

}  // namespace
}  // namespace mpm::test
