// Compares the search for the most similar token with products of all pairs in f64. The search excludes most
// pairs by a bound of their similarity (the screen), which this file also checks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"
#include "mpm_layer/kernels/tokens/nearest.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/kernels/tokens/screen.hpp"
#include "mpm_layer/merge/nearest.hpp"
#include "mpm_layer/merge/screened_rows.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

RowsView viewOf(const cv::Mat& tokens) {
    return {tokens.ptr<float>(), tokens.step1(), tokens.rows, tokens.cols};
}

/// Returns the unit row of each token. The row is empty if the token is not finite.
std::vector<std::vector<float>> unitRows(const cv::Mat& tokens) {
    std::vector<std::vector<float>> units(tokens.rows, std::vector<float>(tokens.cols));
    for (int i = 0; i < tokens.rows; ++i) {
        if (!kernels::unitRow(tokens.ptr<float>(i), tokens.cols, units[i].data())) units[i].clear();
    }
    return units;
}

double lengthOf(const std::vector<float>& row) {
    return std::sqrt(kernels::exactDot(row.data(), row.data(), static_cast<int>(row.size())));
}

int reference(const std::vector<std::vector<float>>& units, const std::vector<double>& lengths, int row) {
    int best = -1;
    double value = -2;
    for (int j = 0; j < static_cast<int>(units.size()) && !units[row].empty(); ++j) {
        if (j == row || units[j].empty()) continue;
        const double its = kernels::cosineOf(units[row].data(), units[j].data(),
                                             static_cast<int>(units[j].size()), lengths[row], lengths[j]);
        if (!(its > value)) continue;
        value = its;
        best = j;
    }
    return best;
}

void checkRows(const cv::Mat& tokens, const std::vector<int>& nearest, int step) {
    const auto units = unitRows(tokens);
    std::vector<double> lengths(units.size());
    std::transform(units.begin(), units.end(), lengths.begin(), lengthOf);
    for (int i = 0; i < tokens.rows; i += step)
        ASSERT_EQ(nearest[i], reference(units, lengths, i))
            << "row " << i << " of " << tokens.rows << " x " << tokens.cols;
}

/// Checks the nearest tokens. The search uses the screen only for many or wide rows. If there are few tokens,
/// the function therefore also searches copies of the tokens with fewer and with more columns.
void checkEveryRow(const cv::Mat& tokens, int step = 1) {
    if (tokens.rows > 500) return checkRows(tokens, nearestNeighbours({viewOf(tokens)})[0], step);
    const cv::Mat narrow = tokens.colRange(0, std::min(tokens.cols, 64));
    cv::Mat wide;
    cv::copyMakeBorder(narrow, wide, 0, 0, 0, 65, cv::BORDER_CONSTANT, 0);
    const auto nearest = nearestNeighbours({viewOf(narrow), viewOf(tokens), viewOf(wide), viewOf(narrow)});
    checkRows(narrow, nearest[0], step);
    checkRows(wide, nearest[2], step);
    if (tokens.cols > narrow.cols) checkRows(tokens, nearest[1], step);
    EXPECT_EQ(nearest[3], nearest[0]);
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
    // Tokens are close to a single direction. At a spread of 1e-7 or less, rounding removes most differences.
    const cv::Mat centre = randomMatrix(1, 192, 3);
    for (double spread : {1.0, 1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12}) {
        cv::Mat tokens = randomMatrix(400, 192, 4, spread) + cv::repeat(centre, 400, 1);
        checkEveryRow(tokens);
        // A few distant tokens move the mean. The other tokens then have similar differences from the mean.
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
        // There are few possible rows, so many are equal, opposite or zero.
        cv::Mat tokens(200, 6, CV_32F);
        for (float& v : cv::Mat_<float>(tokens))
            v = static_cast<float>(std::uniform_int_distribution<int>(-1, 1)(random));
        checkEveryRow(tokens);
    }
    // Each row has similarity 0 to all other rows, so the lowest index wins.
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
    // The largest element of a row determines the quantisation step, so the other elements become imprecise.
    cv::Mat tokens = randomMatrix(200, 192, 13);
    for (int i = 0; i < tokens.rows; ++i)
        tokens.at<float>(i, i % 3) += 1000;
    checkEveryRow(tokens);
    cv::Mat apart = randomMatrix(200, 192, 14, 1e-3);
    for (int i = 0; i < tokens.rows; ++i)
        apart.at<float>(i, i % 192) += 1;
    checkEveryRow(apart);
}

/// Computes `similarity`, which is the cosine of two rows minus 1, and the screen's bounds of this value:
/// `upper` is U and `far` is F (screen.hpp). `upper` exceeds `similarity` by at most `room`.
struct Pair {
    Pair(const cv::Mat& rows, const kernels::ScreenBasis& basis, bool words) {
        const int width = rows.cols, depth = kernels::screenCells(width, words);
        const size_t stride = kernels::paddedStride(depth), apart = kernels::panelColumns();
        kernels::Buffer cells(kernels::paddedSize(2, stride)), panels(kernels::panelsSize(2, depth));
        std::vector<float> unit[2] = {std::vector<float>(width), std::vector<float>(width)};
        std::vector<float> steps(apart), shifts(apart, -std::numeric_limits<float>::infinity()),
            slacks(apart), norms(apart), places(kernels::kDirections * apart), bars(apart);
        const kernels::TokenRows tokens{rows.ptr<float>(), rows.step1(), width};
        kernels::PlacedRow placed[2];
        kernels::CentredRow centred[2];
        const int order[] = {0, 1};
        kernels::placeRows(tokens, 0, 2, basis, placed);
        kernels::centreRows(tokens, placed, order, 2, basis, words, cells.data(), stride, centred);
        double reach = 0, error = 0, slack = 0, away = 0;
        for (int i = 0; i < 2; ++i) {
            const kernels::CentredRow& row = centred[i];
            kernels::unitRow(rows.ptr<float>(i), width, unit[i].data());
            steps[i] = row.step, shifts[i] = row.shift, slacks[i] = row.slack, norms[i] = row.norm;
            slack += row.slack;
            for (int l = 0; l < kernels::kDirections; ++l)
                places[l * apart + i] = placed[i].place[l];
            reach = std::max<double>(reach, row.reach);
            error = std::max<double>(error, row.error);
        }
        for (size_t at = 0; at < places.size(); at += apart)
            away += std::pow(static_cast<double>(places[at]) - places[at + 1], 2);
        kernels::packPanel(cells.data(), stride, 2, depth, 0, panels.data());
        const float margin = kernels::screenMargin(reach, error, width, words);
        kernels::Leads leads(2);
        const kernels::Screen screen{cells.data(),
                                     stride,
                                     panels.data(),
                                     depth,
                                     steps.data(),
                                     shifts.data(),
                                     slacks.data(),
                                     norms.data(),
                                     places.data(),
                                     apart,
                                     margin,
                                     words,
                                     2,
                                     width};
        kernels::setBars(screen, leads, 0, bars.data());
        EXPECT_EQ(bars[0], -std::numeric_limits<float>::infinity());
        kernels::screenNear(screen, 0, 2, leads);
        kernels::setBars(screen, leads, 0, bars.data());
        EXPECT_EQ(bars[2], std::numeric_limits<float>::infinity());
        EXPECT_EQ(bars[1], bars[0]);
        bar = bars[0];
        far = static_cast<double>(shifts[0]) + shifts[1] - away + static_cast<double>(norms[0]) * norms[1];
        upper = leads.row(0).value;
        EXPECT_EQ(leads.row(1).value, upper);
        room = 2.0 * margin * steps[0] * steps[1] + 3 * slack + 5 * kernels::kTilt * away;
        long double product = 0, squares[2] = {0, 0};
        for (int k = 0; k < width; ++k) {
            product += static_cast<long double>(unit[0][k]) * unit[1][k];
            for (int i = 0; i < 2; ++i)
                squares[i] += static_cast<long double>(unit[i][k]) * unit[i][k];
        }
        similarity = product / std::sqrt(squares[0] * squares[1]) - 1;
    }

    double upper, far, room, bar;
    long double similarity;
};

/// Returns rows around a point. The rows spread widely in a few directions and less in all others. In some
/// rounds, a row is scaled, is an outlier, or is a copy of another row.
cv::Mat spreadRows(int count, int width, int round) {
    std::mt19937 random(round);
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    const int directions = std::uniform_int_distribution<int>(0, 6)(random);
    const double wide = std::pow(10, uniform(-6, 1)), narrow = wide * std::pow(10, uniform(-4, 0));
    cv::Mat rows = randomMatrix(count, width, 4 * round, narrow);
    rows += cv::repeat(randomMatrix(1, width, 4 * round + 1), count, 1);
    if (directions > 0)
        rows += randomMatrix(count, directions, 4 * round + 2, wide) *
                randomMatrix(directions, width, 4 * round + 3);
    if (round % 3 == 0) rows.row(1) *= uniform(-2, 2);
    if (round % 5 == 0) rows.at<float>(0, round % width) += static_cast<float>(100 * wide);
    if (round % 7 == 0) rows.row(0).copyTo(rows.row(1));
    return rows;
}

TEST(Screen, LeadsOfPartsAreThoseOfTheWhole) {
    std::mt19937 random(1);
    for (int count : {1, 5, 16, 33}) {
        std::vector<std::vector<std::pair<float, int>>> found(count);  // row by row: value, column
        kernels::Leads leads(count);
        for (int part = 0; part < 6; ++part) {
            const int first = static_cast<int>(random() % count);
            kernels::Leads own(count);
            for (int i = first; i < count; ++i) {
                if (random() % 4 == 0) continue;  // this part found no lead for the row
                std::vector<std::pair<float, int>> its;
                for (int n = 0; n < 3; ++n)
                    its.emplace_back(-static_cast<float>(random() % 1000000), 3 * part + n);
                found[i].insert(found[i].end(), its.begin(), its.end());
                std::sort(its.rbegin(), its.rend());
                own.value[i] = its[0].first, own.index[i] = its[0].second;
                own.second[i] = its[1].first, own.secondIndex[i] = its[1].second;
                own.rest[i] = its[2].first;
            }
            leads.merge(own, first);
        }
        for (int i = 0; i < count; ++i) {
            std::sort(found[i].rbegin(), found[i].rend());
            const kernels::Leads::Row lead = leads.row(i);
            if (found[i].empty()) {
                EXPECT_EQ(lead.index, -1);
                continue;
            }
            EXPECT_EQ(std::make_pair(lead.value, lead.index), found[i][0]);
            EXPECT_EQ(std::make_pair(lead.second, lead.secondIndex), found[i][1]);
            EXPECT_EQ(lead.rest, found[i][2].first);
        }
    }
}

TEST(Screen, NeverBelowTheSimilarityAndNeverMuchAbove) {
    double nearest = 1;
    for (int round = 0; round < 3000; ++round) {
        const int width = round % 50 == 0 ? 40 * (round / 50) + 1 : round % 200 + 1;
        const cv::Mat rows = spreadRows(30, width, round);
        // In odd rounds, the basis comes from other rows: the bound must hold with any basis.
        const Basis basis(viewOf(rows.rowRange(round % 2 == 0 ? 2 : 20, 30)));
        for (const bool words : {false, true}) {
            if (words && !kernels::screensWords(width)) continue;
            const Pair pair(rows.rowRange(0, 2), basis.view(), words);
            const double exact = std::pow((width + 16) * 0x1p-24, 2);
            ASSERT_GE(pair.upper, static_cast<double>(pair.similarity) - exact)
                << "round " << round << ", width " << width;
            ASSERT_GE(pair.far, static_cast<double>(pair.similarity) - exact)
                << "round " << round << ", width " << width;
            ASSERT_LE(pair.upper, static_cast<double>(pair.similarity) + pair.room + exact)
                << "round " << round << ", width " << width;
            ASSERT_LE(pair.bar, static_cast<double>(pair.similarity))
                << "round " << round << ", width " << width;
            ASSERT_GE(pair.bar, pair.upper - 1.03 * pair.room - 2 * exact - 1e-6 * std::abs(pair.upper))
                << "round " << round << ", width " << width;
            nearest = std::min(nearest, static_cast<double>(pair.upper - pair.similarity) / pair.room);
        }
    }
    EXPECT_LT(nearest, 0.5) << "the bound is tight enough to be of use";
}

TEST(Nearest, RowsSpreadInFewDirections) {
    for (int round = 0; round < 60; ++round)
        checkEveryRow(spreadRows(200, 64 + round % 5, 10000 + round));
}

TEST(Screen, DecidesFewRowsExactly) {
    const cv::Mat tokens = randomTokens(1024, 192, 16);
    const NearestCounts before = nearestCounts();
    nearestNeighbours({viewOf(tokens)});
    const NearestCounts after = nearestCounts();
    EXPECT_EQ(after.rows - before.rows, 1024);
    EXPECT_LT(after.decided - before.decided, 100);
    // These tokens imitate an image with differences only in colour. The tokens vary in few directions, so
    // many tokens have a very similar nearest token.
    const cv::Mat colours = randomTokens(1024, 3, 17) * randomMatrix(3, 192, 18) +
                            cv::repeat(randomMatrix(1, 192, 19, 3), 1024, 1) +
                            randomMatrix(1024, 192, 20, 1e-3);
    nearestNeighbours({viewOf(colours)});
    EXPECT_LT(nearestCounts().decided - after.decided, 200);
    const NearestCounts last = nearestCounts();
    nearestNeighbours({viewOf(cv::Mat(64, 192, CV_32F, cv::Scalar(1)))});
    EXPECT_EQ(nearestCounts().decided - last.decided, 64) << "copies are always decided exactly";
}

}  // namespace
}  // namespace mpm::test
