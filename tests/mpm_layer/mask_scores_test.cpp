// Compares the kernels of MpmMaskLabels with scalar loops, at sizes around the widths of vectors and panels.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "mpm_layer/kernels/tokens/upsample.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

constexpr int kWidths[] = {1, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 130};

TEST(MaskScores, SigmoidsArePackedAsAProductTakesThem) {
    constexpr int kDepth = 5;
    kernels::PackedWeights packed;
    for (int columns : kWidths) {
        for (float weight : {0.0f, 0.3f, 1.0f}) {
            const cv::Mat low = randomMatrix(kDepth, columns, 1, 5.0),
                          high = randomMatrix(kDepth, columns, 2, 5.0);
            packed.reshape(kDepth, columns);
            kernels::packSigmoid(low.ptr<float>(), high.ptr<float>(), columns, weight, packed);
            const int width = kernels::panelColumns();
            for (int k = 0; k < kDepth; ++k) {
                for (int c = 0; c < columns; ++c) {
                    const double a = low.at<float>(k, c), b = high.at<float>(k, c);
                    EXPECT_NEAR(packed.panel(c / width)[k * width + c % width],
                                1 / (1 + std::exp(-(a + weight * (b - a)))), 1e-6)
                        << columns << " columns, row " << k << ", column " << c;
                }
            }
        }
    }
}

TEST(MaskScores, SigmoidsOfTheLargestLogitsAndOfNaN) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::vector<float> logits = {kInfinity, 3e38f, 100, -100, -3e38f, -kInfinity, std::nanf("")};
    const std::vector<float> expected = {1, 1, 1, 0, 0, 0, 0};
    kernels::PackedWeights packed;
    packed.reshape(1, static_cast<int>(logits.size()));
    kernels::packSigmoid(logits.data(), logits.data(), logits.size(), 0.5f, packed);
    for (size_t i = 0; i < logits.size(); ++i)
        EXPECT_NEAR(packed.panel(0)[i], expected[i], 1e-30) << logits[i];
}

TEST(MaskScores, LargestOfEachColumn) {
    for (int columns : kWidths) {
        for (int count : {1, 2, 9}) {
            cv::Mat rows = randomMatrix(count, columns, 3);
            for (float& value : cv::Mat_<float>(rows))
                value = std::round(2 * value);  // makes ties
            rows.at<float>(0, columns / 2) = std::nanf("");
            std::vector<int> labels(columns, -1);
            std::vector<float> best(columns, 7);
            kernels::argmaxRows(rows.ptr<float>(), columns, count, columns, labels.data(), best.data());
            for (int c = 0; c < columns; ++c) {
                int label = 0;
                float largest = -std::numeric_limits<float>::infinity();
                for (int r = 0; r < count; ++r) {
                    if (!(rows.at<float>(r, c) > largest)) continue;
                    largest = rows.at<float>(r, c);
                    label = r;
                }
                EXPECT_EQ(labels[c], label) << columns << " columns, " << count << " rows, column " << c;
                EXPECT_EQ(best[c], largest);
            }
        }
    }
}

}  // namespace
}  // namespace mpm::test
