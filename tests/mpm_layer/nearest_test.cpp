// The screened search for the most similar token against products in f64 of all pairs, and the screen's
// bound.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/nearest.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

RowsView viewOf(const cv::Mat& tokens) {
    return {tokens.ptr<float>(), tokens.step1(), tokens.rows, tokens.cols};
}

/// Unit rows; empty where a row is not finite.
std::vector<std::vector<float>> unitRows(const cv::Mat& tokens) {
    std::vector<std::vector<float>> units(tokens.rows, std::vector<float>(tokens.cols));
    for (int i = 0; i < tokens.rows; ++i) {
        if (!kernels::unitRow(tokens.ptr<float>(i), tokens.cols, units[i].data())) units[i].clear();
    }
    return units;
}

int reference(const std::vector<std::vector<float>>& units, int row) {
    int best = -1;
    double value = -2;
    for (int j = 0; j < static_cast<int>(units.size()) && !units[row].empty(); ++j) {
        if (j == row || units[j].empty()) continue;
        const double its =
            kernels::exactDot(units[row].data(), units[j].data(), static_cast<int>(units[j].size()));
        if (!(its > value)) continue;
        value = its;
        best = j;
    }
    return best;
}

void checkEveryRow(const cv::Mat& tokens, int step = 1) {
    const std::vector<int> nearest = nearestNeighbours({viewOf(tokens)})[0];
    const auto units = unitRows(tokens);
    for (int i = 0; i < tokens.rows; i += step)
        ASSERT_EQ(nearest[i], reference(units, i))
            << "row " << i << " of " << tokens.rows << " x " << tokens.cols;
}

TEST(Nearest, EqualsProductsInDoublesForAnySize) {
    for (int tokens : {1, 2, 3, 13, 31, 32, 33, 47, 65, 130, 300}) {
        for (int width : {1, 2, 3, 8, 17, 64, 95, 192, 193})
            checkEveryRow(randomTokens(tokens, width, tokens + width));
    }
    checkEveryRow(randomMatrix(700, 768, 1));
    checkEveryRow(randomMatrix(100, 5000, 2));
}

TEST(Nearest, SpreadsFromOneToNothing) {
    // Tokens around one direction: at 1e-7 and below, f32 rounds most of their differences away.
    const cv::Mat centre = randomMatrix(1, 192, 3);
    for (double spread : {1.0, 1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12}) {
        cv::Mat tokens = randomMatrix(400, 192, 4, spread) + cv::repeat(centre, 400, 1);
        checkEveryRow(tokens);
        // One that is elsewhere moves the mean, and makes the others' differences look alike.
        tokens.row(17) *= -1;
        randomMatrix(1, 192, 5).copyTo(tokens.row(18));
        tokens.row(19).setTo(0);
        checkEveryRow(tokens);
    }
}

TEST(Nearest, SeveralTightClusters) {
    for (double spread : {1e-3, 1e-6, 1e-7, 3e-8}) {
        const cv::Mat centres = randomMatrix(7, 100, 6);
        cv::Mat tokens = randomMatrix(350, 100, 7, spread);
        for (int i = 0; i < tokens.rows; ++i)
            tokens.row(i) += centres.row(i * i % 7);
        checkEveryRow(tokens);
    }
}

TEST(Nearest, TiesGoToTheLowest) {
    std::mt19937 random(8);
    for (int round = 0; round < 100; ++round) {
        // Few different rows: copies everywhere, opposite ones, zeros.
        cv::Mat tokens(200, 6, CV_32F);
        for (float& v : cv::Mat_<float>(tokens))
            v = static_cast<float>(std::uniform_int_distribution<int>(-1, 1)(random));
        checkEveryRow(tokens);
    }
    // Similarity 0 to all others, exactly.
    const cv::Mat apart = cv::Mat::eye(150, 160, CV_32F);
    EXPECT_EQ(nearestNeighbours({viewOf(apart)})[0][0], 1);
    EXPECT_EQ(nearestNeighbours({viewOf(apart)})[0][149], 0);
    checkEveryRow(apart);
    checkEveryRow(cv::Mat::zeros(70, 33, CV_32F));
    checkEveryRow(cv::Mat(500, 20, CV_32F, cv::Scalar(0.3)));
    cv::Mat copies;
    cv::repeat(randomMatrix(90, 48, 9), 4, 1, copies);
    checkEveryRow(copies);
}

TEST(Nearest, AnyNormAndValuesThatAreNotFinite) {
    cv::Mat tokens = randomTokens(300, 96, 10);
    const float scales[] = {1e-30f, 1e-10f, 1.0f, 1e10f, 1e30f};
    for (int i = 0; i < tokens.rows; ++i)
        tokens.row(i) *= scales[i % 5];
    checkEveryRow(tokens);
    for (int i = 0; i < tokens.rows; i += 7)
        tokens.at<float>(i, i % 96) =
            i % 2 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    checkEveryRow(tokens);
    tokens.rowRange(1, 300).setTo(std::numeric_limits<float>::infinity());
    checkEveryRow(tokens);
}

TEST(Nearest, ManyTokens) {
    checkEveryRow(randomTokens(16384, 32, 11), 53);
    cv::Mat alike = randomMatrix(16384, 16, 12, 1e-4);
    alike += 1;
    checkEveryRow(alike, 53);
}

TEST(Nearest, OneHugeElement) {
    // Words of a row whose largest element is nearly all of it.
    cv::Mat tokens = randomMatrix(200, 192, 13);
    for (int i = 0; i < tokens.rows; ++i)
        tokens.at<float>(i, i % 3) += 1000;
    checkEveryRow(tokens);
    cv::Mat apart = randomMatrix(200, 192, 14, 1e-3);
    for (int i = 0; i < tokens.rows; ++i)
        apart.at<float>(i, i % 192) += 1;
    checkEveryRow(apart);
}

/// U of two rows, with margin and all, beside the similarity that it bounds.
struct Pair {
    Pair(const cv::Mat& rows, const std::vector<float>& mean, bool words) {
        const int width = rows.cols, depth = kernels::screenCells(width, words);
        const size_t stride = kernels::paddedStride(depth);
        kernels::Buffer cells(kernels::paddedSize(2, stride)), panels(kernels::panelsSize(2, depth));
        std::vector<float> unit[2] = {std::vector<float>(width), std::vector<float>(width)};
        std::vector<float> steps(kernels::panelColumns()), shifts(steps.size());
        double reach = 0, error = 0;
        const double meanSquare = kernels::exactDot(mean.data(), mean.data(), width);
        for (int i = 0; i < 2; ++i) {
            kernels::unitRow(rows.ptr<float>(i), width, unit[i].data());
            const auto row = kernels::centreRow(unit[i].data(), mean.data(), meanSquare, width, words,
                                                cells.data() + i * stride);
            steps[i] = row.step, shifts[i] = row.shift;
            reach = std::max<double>(reach, row.reach);
            error = std::max<double>(error, row.error);
        }
        kernels::packPanel(cells.data(), stride, 2, depth, 0, panels.data());
        const float margin = kernels::screenMargin(reach, error, width, words);
        kernels::Leads leads(2);
        kernels::screenChunk(
            {cells.data(), stride, panels.data(), depth, steps.data(), shifts.data(), margin, words, 2}, 0, 2,
            leads);
        upper = leads.value[0];
        EXPECT_EQ(leads.value[1], upper);
        room = 2.0 * margin * steps[0] * steps[1] +
               4 * kernels::kShiftSlack * (std::abs(shifts[0]) + std::abs(shifts[1]));
        similarity = -meanSquare;
        for (int k = 0; k < width; ++k)
            similarity += static_cast<long double>(unit[0][k]) * unit[1][k];
    }

    double upper, room;
    long double similarity;
};

TEST(Screen, NeverBelowTheSimilarityAndNeverMuchAbove) {
    std::mt19937 random(15);
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    double nearest = 1;
    for (int round = 0; round < 4000; ++round) {
        const int width = std::uniform_int_distribution<int>(1, round % 50 == 0 ? 3000 : 200)(random);
        const double spread = std::pow(10, uniform(-9, 1)), offset = std::pow(10, uniform(-9, 0));
        cv::Mat rows = randomMatrix(2, width, 2 * round, spread), mean;
        rows += cv::repeat(randomMatrix(1, width, 2 * round + 1), 2, 1);
        if (round % 3 == 0) rows.row(1) *= uniform(-2, 2);
        if (round % 5 == 0) rows.at<float>(0, round % width) += static_cast<float>(100 * spread);
        if (round % 7 == 0) rows.row(0).copyTo(rows.row(1));
        cv::Mat unit = rows.row(0) / std::max(cv::norm(rows.row(0)), 1e-30);
        unit += randomMatrix(1, width, 3 * round, offset);
        for (const bool words : {false, true}) {
            if (words && !kernels::screensWords(width)) continue;
            const Pair pair(rows, std::vector<float>(unit.begin<float>(), unit.end<float>()), words);
            const double exact = width * 1e-15;
            ASSERT_GE(pair.upper, static_cast<double>(pair.similarity) - exact) << "round " << round;
            ASSERT_LE(pair.upper, static_cast<double>(pair.similarity) + pair.room + exact)
                << "round " << round;
            if (pair.room > 0)
                nearest = std::min(nearest, static_cast<double>(pair.upper - pair.similarity) / pair.room);
        }
    }
    EXPECT_LT(nearest, 0.5) << "the bound is tight enough to be of use";
}

TEST(Screen, DecidesFewRowsExactly) {
    const cv::Mat tokens = randomTokens(1024, 192, 16);
    const NearestCounts before = nearestCounts();
    nearestNeighbours({viewOf(tokens)});
    const NearestCounts after = nearestCounts();
    EXPECT_EQ(after.rows - before.rows, 1024);
    EXPECT_LT(after.decided - before.decided, 100);
    nearestNeighbours({viewOf(cv::Mat(64, 192, CV_32F, cv::Scalar(1)))});
    EXPECT_EQ(nearestCounts().decided - after.decided, 64) << "copies are always decided exactly";
}

}  // namespace
}  // namespace mpm::test
