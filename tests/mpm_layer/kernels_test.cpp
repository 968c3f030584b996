// Compares each kernel, except attention, with a scalar loop, at sizes around the width of a vector and with
// misaligned memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "left_operand.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using namespace kernels;

const int kSizes[] = {1, 2, 3, 7, 8, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 191, 192, 193, 257};

struct ProductCase {
    int rows, depth, columns;
};

void checkProduct(const ProductCase& c, bool half) {
    const cv::Mat left = randomMatrix(c.rows, c.depth, 1), right = randomMatrix(c.depth, c.columns, 2);
    const cv::Mat bias = randomMatrix(1, c.columns, 3), scale = randomMatrix(1, c.columns, 4);
    const cv::Mat gate = randomMatrix(c.rows, c.columns, 5), before = randomMatrix(c.rows, c.columns, 6);
    cv::Mat output = before.clone();
    Epilogue epilogue;
    epilogue.bias = bias.ptr<float>();
    epilogue.activation = Activation::Gelu;
    epilogue.gate = gate.ptr<float>();
    epilogue.gateStride = c.columns;
    epilogue.scale = scale.ptr<float>();
    epilogue.add = true;
    if (half) {
        const size_t stride = paddedStride(pairsOf(c.depth));
        std::vector<Bf16Pair> pairs(paddedSize(c.rows, stride));
        for (int r = 0; r < c.rows; ++r)
            packPairs(left.ptr<float>(r), c.depth, pairs.data() + r * stride);
        const PackedWeightsBf16 weights(right.ptr<float>(), c.columns, c.depth, c.columns);
        productBf16(pairs.data(), stride, c.rows, weights, epilogue, output.ptr<float>(), c.columns);
    } else {
        const size_t stride = paddedStride(c.depth);
        const LeftOperand rows(left, stride);
        const PackedWeights weights(right.ptr<float>(), c.columns, c.depth, c.columns);
        product(rows.data(), stride, c.rows, weights, epilogue, output.ptr<float>(), c.columns);
    }
    const double tolerance = (half ? 2e-2 : 2e-6) * std::sqrt(c.depth) * 10;
    for (int r = 0; r < c.rows; ++r) {
        for (int n = 0; n < c.columns; ++n) {
            double sum = bias.at<float>(n);
            for (int k = 0; k < c.depth; ++k)
                sum += static_cast<double>(left.at<float>(r, k)) * right.at<float>(k, n);
            const double wanted = before.at<float>(r, n) +
                                  activate(sum, Activation::Gelu) * gate.at<float>(r, n) * scale.at<float>(n);
            ASSERT_NEAR(output.at<float>(r, n), wanted, tolerance)
                << c.rows << "x" << c.depth << "x" << c.columns;
        }
    }
}

void checkProducts(bool half) {
    for (int size : kSizes) {
        checkProduct({size, 33, 17}, half);
        checkProduct({5, size, 40}, half);
        checkProduct({13, 19, size}, half);
    }
    checkProduct({50, 777, 100}, half);
}

TEST(Product, EqualsScalarLoops) {
    checkProducts(false);
}

TEST(Product, EqualsScalarLoopsInBf16) {
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    checkProducts(true);
}

/// Multiplies the first `count` rows of `left` with `right`.
cv::Mat multiplied(const cv::Mat& left, const cv::Mat& right, int count, bool half) {
    cv::Mat output(count, right.cols, CV_32F);
    if (half) {
        const size_t stride = paddedStride(pairsOf(left.cols));
        std::vector<Bf16Pair> pairs(paddedSize(left.rows, stride));
        for (int r = 0; r < left.rows; ++r)
            packPairs(left.ptr<float>(r), left.cols, pairs.data() + r * stride);
        const PackedWeightsBf16 weights(right.ptr<float>(), right.cols, left.cols, right.cols);
        productBf16(pairs.data(), stride, count, weights, {}, output.ptr<float>(), right.cols);
    } else {
        const size_t stride = paddedStride(left.cols);
        const PackedWeights weights(right.ptr<float>(), right.cols, left.cols, right.cols);
        product(LeftOperand(left, stride).data(), stride, count, weights, {}, output.ptr<float>(),
                right.cols);
    }
    return output;
}

// The bits of a product's row do not depend on the number of rows, even if the last group is incomplete.
TEST(Product, BitsDoNotDependOnTheRowsBeside) {
    const cv::Mat left = randomMatrix(26, 70, 1), right = randomMatrix(70, 45, 2);
    for (bool half : {false, true}) {
        if (half && !hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
        const cv::Mat all = multiplied(left, right, 26, half);
        for (int count = 0; count < 26; ++count) {
            const cv::Mat some = multiplied(left, right, count, half);
            EXPECT_TRUE(count == 0 || cv::norm(some, all.rowRange(0, count), cv::NORM_INF) == 0) << count;
        }
    }
}

float roundedToBf16(float value) {
    Bf16Pair pair = 0;
    packPairs(&value, 1, &pair);
    const std::uint32_t bits = pair << 16;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// A product can write bf16 rows for the next product. These rows must equal the f32 output, rounded to bf16.
// GELU has a tolerance, because a small error of GELU may change the rounding.
TEST(Product, PairsAreTheRoundedSums) {
    if (!hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    const int rows = 13, depth = 19;
    for (int columns : kSizes) {
        const cv::Mat left = randomMatrix(rows, depth, 1), right = randomMatrix(depth, columns, 2);
        const size_t stride = paddedStride(pairsOf(depth)), pairs = pairsOf(columns);
        std::vector<Bf16Pair> packed(paddedSize(rows, stride)), output(rows * pairs, ~0u);
        for (int r = 0; r < rows; ++r)
            packPairs(left.ptr<float>(r), depth, packed.data() + r * stride);
        const PackedWeightsBf16 weights(right.ptr<float>(), columns, depth, columns);
        for (Activation activation : {Activation::None, Activation::Gelu, Activation::Silu}) {
            Epilogue epilogue;
            epilogue.activation = activation;
            cv::Mat sums(rows, columns, CV_32F);
            productBf16(packed.data(), stride, rows, weights, epilogue, sums.ptr<float>(), columns);
            productBf16(packed.data(), stride, rows, weights, epilogue, PairRows{output.data(), pairs});
            const double tolerance = activation == Activation::Gelu ? 2e-4 : 0;
            for (int r = 0; r < rows; ++r) {
                for (int n = 0; n < columns; ++n) {
                    const std::uint32_t bits = output[r * pairs + n / 2] >> (n % 2 * 16) << 16;
                    float value = 0;
                    std::memcpy(&value, &bits, sizeof value);
                    const float wanted = roundedToBf16(sums.at<float>(r, n));
                    EXPECT_NEAR(value, wanted, tolerance + (tolerance > 0) * std::abs(wanted) / 128);
                }
                const std::uint32_t last = output[r * pairs + pairs - 1] >> 16;
                EXPECT_TRUE(columns % 2 == 0 || last == 0);
            }
        }
    }
}

TEST(Product, EveryActivation) {
    cv::Mat points(1, 401, CV_32F);
    for (int i = 0; i < 401; ++i)
        points.at<float>(i) = static_cast<float>(i - 200) * 0.0601f;
    points.at<float>(0) = -1e30f;
    points.at<float>(400) = 1e30f;
    const cv::Mat identity = cv::Mat::ones(1, 1, CV_32F);
    const PackedWeights weights(points.ptr<float>(), 401, 1, 401);
    const LeftOperand rows(identity, paddedStride(1));
    for (Activation activation : {Activation::None, Activation::Gelu, Activation::GeluTanh,
                                  Activation::GeluQuick, Activation::Silu, Activation::Relu}) {
        Epilogue epilogue;
        epilogue.activation = activation;
        std::vector<float> output(401);
        product(rows.data(), paddedStride(1), 1, weights, epilogue, output.data(), 401);
        for (int i = 0; i < 401; ++i) {
            const double size = std::max(1.0, std::abs(static_cast<double>(points.at<float>(i))));
            EXPECT_NEAR(output[i], activate(points.at<float>(i), activation), 3e-7 * size)
                << points.at<float>(i) << ", activation " << static_cast<int>(activation);
        }
    }
}

// Allocates buffers of many sizes, then frees some of them and allocates them again. Each buffer must keep
// its content.
TEST(Buffer, BlocksDoNotOverlap) {
    std::vector<Buffer> buffers(120);
    std::vector<size_t> counts(buffers.size());
    const auto fill = [&](size_t i, size_t count) {
        float* data = buffers[i].reserve(counts[i] = count);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % kAlignment, 0u);
        std::fill(data, data + count, static_cast<float>(i));
    };
    for (size_t i = 0; i < buffers.size(); ++i)
        fill(i, size_t{100} << i % 15);
    for (size_t i = 0; i < buffers.size(); i += 3)
        buffers[i] = Buffer();
    for (size_t i = 0; i < buffers.size(); i += 3)
        fill(i, size_t{90} << i % 14);
    for (size_t i = 0; i < buffers.size(); ++i) {
        const float* data = buffers[i].data();
        EXPECT_TRUE(std::all_of(data, data + counts[i], [&](float v) { return v == static_cast<float>(i); }))
            << i;
    }
}

TEST(Rows, RmsNorm) {
    for (int width : kSizes) {
        const cv::Mat memory = randomMatrix(1, width + 1, width, 3.0) + 1.5;
        const float* in = memory.ptr<float>() + 1;
        const cv::Mat weight = randomMatrix(1, width, 1);
        std::vector<float> normed(width + 1, 7.0f);
        normaliseRow(in, width, weight.ptr<float>(), nullptr, {1e-5f, NormKind::Rms}, normed.data());
        double squares = 0;
        for (int k = 0; k < width; ++k)
            squares += static_cast<double>(in[k]) * in[k] / width;
        for (int k = 0; k < width; ++k)
            EXPECT_NEAR(normed[k], in[k] / std::sqrt(squares + 1e-5) * weight.at<float>(k), 2e-5) << width;
        EXPECT_EQ(normed[width], 7.0f) << "nothing past the row is written";
    }
}

TEST(Rows, LayerNormAndUnitRow) {
    for (int width : kSizes) {
        const cv::Mat memory = randomMatrix(1, width + 1, width, 3.0) + 1.5;
        const float* in = memory.ptr<float>() + 1;
        const cv::Mat weight = randomMatrix(1, width, 1), bias = randomMatrix(1, width, 2);
        std::vector<float> normed(width + 1, 7.0f), unit(width + 1, 7.0f);
        normaliseRow(in, width, weight.ptr<float>(), bias.ptr<float>(), {1e-5f}, normed.data());
        ASSERT_TRUE(unitRow(in, width, unit.data()));
        double mean = 0, variance = 0, squares = 0;
        for (int k = 0; k < width; ++k)
            mean += in[k] / static_cast<double>(width);
        for (int k = 0; k < width; ++k) {
            variance += (in[k] - mean) * (in[k] - mean) / width;
            squares += static_cast<double>(in[k]) * in[k];
        }
        for (int k = 0; k < width; ++k) {
            const double wanted =
                (in[k] - mean) / std::sqrt(variance + 1e-5) * weight.at<float>(k) + bias.at<float>(k);
            EXPECT_NEAR(normed[k], wanted, 2e-5) << "width " << width;
            EXPECT_NEAR(unit[k], in[k] / std::sqrt(squares), 1e-6) << "width " << width;
        }
        EXPECT_EQ(normed[width], 7.0f) << "nothing past the row is written";
        EXPECT_EQ(unit[width], 7.0f);
    }
}

TEST(Rows, MeanOverHeadsHasTheBitsOfScalarSums) {
    for (int size : kSizes) {
        for (int heads : {1, 2, 3, 6}) {
            const cv::Mat from = randomMatrix(1, heads * size + 1, static_cast<unsigned>(size));
            const float* first = from.ptr<float>() + 1;  // misaligned
            std::vector<float> mean(size + 1, 5.0f);     // the last element must not change
            meanOverHeads(first, heads, size, mean.data());
            for (int k = 0; k < size; ++k) {
                double sum = 0;
                for (int h = 0; h < heads; ++h)
                    sum += first[h * size + k];
                ASSERT_EQ(mean[k], static_cast<float>(sum * (1.0 / heads)))
                    << size << " " << heads << " " << k;
            }
            ASSERT_EQ(mean[size], 5.0f);
        }
    }
}

TEST(Rows, RotationHasTheBitsOfScalarSums) {
    // The products are volatile, so that the compiler cannot fuse a product and a sum.
    const auto sum = [](float a, float c, float b, float s) {
        const volatile float along = a * c, across = b * s;
        return along + across;
    };
    for (const int size : kSizes) {
        const cv::Mat from = randomMatrix(3, size + 1, static_cast<unsigned>(size));
        const float *row = from.ptr<float>(0), *c = from.ptr<float>(1) + 1, *s = from.ptr<float>(2) + 1;
        std::vector<float> pairs(row, row + size + 1), halves = pairs, wantedPairs = pairs, wanted = pairs;
        for (int k = 0; k + 1 < size; k += 2) {
            wantedPairs[k] = sum(row[k], c[k], -row[k + 1], s[k]);
            wantedPairs[k + 1] = sum(row[k + 1], c[k + 1], row[k], s[k + 1]);
        }
        for (int k = 0, half = size / 2; k < half; ++k) {
            wanted[k] = sum(row[k], c[k], -row[k + half], s[k]);
            wanted[k + half] = sum(row[k + half], c[k + half], row[k], s[k + half]);
        }
        rotateInterleaved(pairs.data(), c, s, size);
        rotateHalves(halves.data(), c, s, size);
        EXPECT_EQ(pairs, wantedPairs) << size;
        EXPECT_EQ(halves, wanted) << size;
    }
}

TEST(Rows, WeightedMeansAndLengths) {
    for (int width : kSizes) {
        const cv::Mat rows = randomMatrix(4, width, static_cast<unsigned>(width));
        const float weights[] = {1.0f, 3.0f, 0.3f};
        const int indices[] = {2, 0, 3};
        for (int count : {1, 2, 3}) {
            std::vector<float> mean(width + 1, 5.0f);
            weightedMeanRow(rows.ptr<float>(), rows.step1(), indices, weights, count, width, mean.data());
            double total = 0, squares = 0;
            for (int m = 0; m < count; ++m)
                total += weights[m];
            for (int k = 0; k < width; ++k) {
                double sum = 0;
                for (int m = 0; m < count; ++m)
                    sum += static_cast<double>(weights[m]) * rows.at<float>(indices[m], k);
                ASSERT_EQ(mean[k], static_cast<float>(sum / total)) << width << " " << count << " " << k;
                squares += static_cast<double>(mean[k]) * mean[k];
            }
            ASSERT_EQ(mean[width], 5.0f);
            ASSERT_NEAR(rowLength(mean.data(), width), std::sqrt(squares), 1e-12 * std::sqrt(squares));
        }
    }
}

TEST(Nearest, PanelsHoldRowsAsColumns) {
    const int columns = panelColumns();
    for (int width : {1, 3, 4, 7, 32, 34}) {
        const cv::Mat rows = randomMatrix(columns, width + 3, width);
        for (int present = 1; present <= columns; ++present) {
            Buffer panel(panelsSize(columns, width));
            std::fill_n(panel.data(), panelsSize(columns, width), 7.0f);
            packPanel(rows.ptr<float>(), rows.step1(), present, width, 0, panel.data());
            for (int k = 0; k < width; ++k) {
                for (int q = 0; q < columns; ++q) {
                    ASSERT_EQ(panel.data()[k * columns + q], q < present ? rows.at<float>(q, k) : 0)
                        << present << " of width " << width << ": " << q << ", " << k;
                }
            }
        }
    }
}

TEST(Nearest, ColumnsEqualScalarLoops) {
    for (int count : {1, 2, 31, 32, 33, 70}) {
        for (int rows : {1, 12, 13, 50}) {
            const cv::Mat left = randomMatrix(rows, 20, rows), right = randomMatrix(count, 20, 100 + count);
            const size_t stride = paddedStride(20);
            const LeftOperand operand(left, stride);
            Buffer panels(panelsSize(count, 20));
            for (int p = 0; p * panelColumns() < count; ++p) {
                const int first = p * panelColumns();
                packPanel(right.ptr<float>(first), right.step1(), std::min(panelColumns(), count - first), 20,
                          p, panels.data());
            }
            Best best(rows);
            nearestColumns(operand.data(), stride, 0, rows, {panels.data(), count, 20}, best);
            for (int r = 0; r < rows; ++r) {
                int wanted = 0;
                for (int i = 1; i < count; ++i) {
                    if (left.row(r).dot(right.row(i)) > left.row(r).dot(right.row(wanted))) wanted = i;
                }
                EXPECT_EQ(best.index[r], wanted);
            }
        }
    }
}

}  // namespace
}  // namespace mpm::test
