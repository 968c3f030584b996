// Tests functions of CUDA kernels, on the CPU: tiles, order of candidates, numbering, scaling, means.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "mpm_layer/cuda/logic/arithmetic.hpp"
#include "mpm_layer/cuda/logic/recent.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"
#include "mpm_layer/merge/nearest.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

using namespace cuda;

TEST(CudaTriangle, NumbersEveryTileOnce) {
    int next = 0;
    for (int column = 0; column < 300; ++column) {
        for (int row = 0; row <= column; ++row) {
            const Tile tile = tileOf(next++);
            ASSERT_EQ(tile.row, row) << "tile " << next - 1;
            ASSERT_EQ(tile.column, column) << "tile " << next - 1;
        }
        ASSERT_EQ(triangleTiles(column + 1), next);
    }
}

TEST(CudaTriangle, HoldsWhereTheRootIsInexact) {
    for (int side : {5000, 20000, 46000}) {
        const int last = triangleTiles(side) - 1;
        EXPECT_EQ(tileOf(last).column, side - 1);
        EXPECT_EQ(tileOf(last).row, side - 1);
        EXPECT_EQ(tileOf(last + 1).column, side);
        EXPECT_EQ(tileOf(last + 1).row, 0);
    }
}

TEST(CudaTriangle, CountsTilesAroundTheirWidth) {
    EXPECT_EQ(tilesAlong(0, 128), 0);
    EXPECT_EQ(tilesAlong(1, 128), 1);
    EXPECT_EQ(tilesAlong(128, 128), 1);
    EXPECT_EQ(tilesAlong(129, 128), 2);
}

TEST(CudaOrder, SortsAsFloatsDo) {
    const float least = std::numeric_limits<float>::denorm_min();
    const std::vector<float> ascending = {-INFINITY, -1e30f, -1.0f, -1e-30f,    -least, 0.0f,    least,
                                          1e-30f,    0.5f,   1.0f,  1.0000001f, 1e30f,  INFINITY};
    for (size_t i = 0; i < ascending.size(); ++i) {
        for (size_t j = 0; j < ascending.size(); ++j)
            EXPECT_EQ(candidate(ascending[i], 3) < candidate(ascending[j], 3), i < j);
        EXPECT_GT(candidate(ascending[i], std::numeric_limits<int>::max()), kNoCandidate);
    }
    EXPECT_EQ(candidate(0.0f, 7), candidate(-0.0f, 7));
}

TEST(CudaOrder, PrefersTheLowestIndexAmongEquals) {
    EXPECT_GT(candidate(0.25f, 3), candidate(0.25f, 4));
    EXPECT_GT(candidate(-0.25f, 0), candidate(-0.25f, 1));
    EXPECT_GT(candidate(0.5f, 1000), candidate(0.25f, 0));
    for (int index : {0, 1, 77, 1 << 30})
        EXPECT_EQ(indexOf(candidate(-0.5f, index)), index);
    EXPECT_EQ(indexOf(kNoCandidate), -1);
}

// The next functions imitate kernels on the CPU. nearestByTiles() compares unit rows tile by tile, in random
// order. number() numbers the clusters in chunks of tokens, with a running count.
struct Numbered {
    std::vector<int> ids, starts, members;
    int clusters = 0;
};

std::vector<Candidate> nearestByTiles(const cv::Mat& tokens, int tile, std::mt19937& random) {
    const int count = tokens.rows;
    std::vector<std::vector<float>> unit(count, std::vector<float>(tokens.cols));
    std::vector<char> finite(count);
    for (int i = 0; i < count; ++i)
        finite[i] = kernels::unitRow(tokens.ptr<float>(i), tokens.cols, unit[i].data());
    std::vector<int> order(triangleTiles(tilesAlong(count, tile)));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Candidate> best(count, kNoCandidate);
    for (int index : order) {
        const Tile at = tileOf(index);
        for (int i = at.row * tile; i < std::min(count, (at.row + 1) * tile); ++i) {
            for (int j = std::max(i + 1, at.column * tile); j < std::min(count, (at.column + 1) * tile);
                 ++j) {
                if (!finite[i] || !finite[j]) continue;
                float sum = 0;
                for (int k = 0; k < tokens.cols; ++k)
                    sum = std::fma(unit[i][k], unit[j][k], sum);
                best[i] = std::max(best[i], candidate(sum, j));
                best[j] = std::max(best[j], candidate(sum, i));
            }
        }
    }
    return best;
}

Numbered number(const std::vector<Candidate>& best, int chunk) {
    const int count = static_cast<int>(best.size());
    Numbered n;
    n.ids.assign(count, -1);
    n.members.assign(count, -1);
    n.starts.assign(count + 1, -1);
    const ClusterLists lists{n.ids.data(), n.starts.data(), n.members.data()};
    ClusterSum carried = 0;
    for (int base = 0; base < count; base += chunk) {
        ClusterSum sum = 0;
        for (int token = base; token < std::min(count, base + chunk); ++token) {
            const int partner = partnerOf(best.data(), token);
            const ClusterSum term = clusterTerm(token, partner);
            placeToken(lists, token, partner, carried + sum);
            sum += term;
        }
        carried += sum;
    }
    n.clusters = clustersIn(carried);
    n.starts[n.clusters] = membersIn(carried);
    return n;
}

void expectProcessorsPairs(const cv::Mat& tokens, unsigned seed) {
    std::mt19937 random(seed);
    const RowsView view{tokens.ptr<float>(), static_cast<size_t>(tokens.cols), tokens.rows, tokens.cols};
    const std::vector<int> expected = nearestNeighbours({view})[0];
    const MergeMap map = pairUp(expected);
    for (int tile : {4, 128}) {
        const std::vector<Candidate> best = nearestByTiles(tokens, tile, random);
        const Numbered n = number(best, 16);
        ASSERT_EQ(n.ids, map.ids) << tokens.rows << " tokens, tiles of " << tile;
        ASSERT_EQ(n.clusters, map.clusters);
        const Clusters clusters(map);
        for (int c = 0; c < n.clusters; ++c) {
            ASSERT_EQ(n.starts[c + 1] - n.starts[c], clusters.size(c));
            for (int m = 0; m < clusters.size(c); ++m)
                ASSERT_EQ(n.members[n.starts[c] + m], clusters.members(c)[m]);
        }
    }
}

TEST(CudaPairs, EqualTheProcessors) {
    for (int tokens : {1, 2, 3, 15, 16, 17, 127, 128, 129, 200})
        expectProcessorsPairs(randomMatrix(tokens, 19, 5u + tokens, 1.0), 3);
}

TEST(CudaPairs, OfEqualTokensAreOne) {
    const cv::Mat tokens(9, 6, CV_32F, cv::Scalar(0.3));
    expectProcessorsPairs(tokens, 1);
    std::mt19937 random(1);
    EXPECT_EQ(number(nearestByTiles(tokens, 4, random), 16).clusters, 8);
}

TEST(CudaPairs, LeaveBrokenTokensAlone) {
    cv::Mat tokens = randomMatrix(24, 6, 8, 1.0);
    tokens.at<float>(3, 1) = std::numeric_limits<float>::quiet_NaN();
    tokens.at<float>(10, 5) = INFINITY;
    tokens.row(7).setTo(0);
    expectProcessorsPairs(tokens, 2);
}

TEST(CudaScaling, BringsAnyRowNearOne) {
    const float least = std::numeric_limits<float>::denorm_min();
    for (float largest :
         {least, 1e-38f, 1e-30f, 0.7f, 1.0f, 3.0f, 1e30f, std::numeric_limits<float>::max()}) {
        const float scaled = scalingFor(largest).apply(largest);
        EXPECT_GE(scaled, 0.25f) << largest;
        EXPECT_LE(scaled, 2.0f) << largest;
        int exponent = 0;
        EXPECT_EQ(std::frexp(scaled, &exponent), std::frexp(largest, &exponent)) << "powers of two are exact";
    }
}

TEST(CudaMean, EqualsTheProcessors) {
    const cv::Mat rows = randomMatrix(6, 5, 3, 1e30);
    const std::vector<float> weights = {1, 2, 1, 5, 1, 3};
    const std::vector<int> members = {1, 3, 4};
    for (int count : {1, 2, 3}) {
        std::vector<float> plain(5), weighted(5);
        kernels::meanRow(rows.ptr<float>(), 5, members.data(), count, 5, plain.data());
        std::vector<float> own(weights.size());
        for (int m = 0; m < count; ++m)
            own[m] = weights[members[m]];
        kernels::weightedMeanRow(rows.ptr<float>(), 5, members.data(), own.data(), count, 5, weighted.data());
        for (int k = 0; k < 5; ++k) {
            EXPECT_EQ(meanElement(rows.ptr<float>() + k, 5, members.data(), count, nullptr), plain[k]);
            if (count > 1) {
                EXPECT_EQ(meanElement(rows.ptr<float>() + k, 5, members.data(), count, weights.data()),
                          weighted[k]);
            }
        }
    }
}

TEST(CudaSplit, TermsHoldEveryBit) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 100000; ++i) {
        const float value = std::ldexp(normal(random), -(i % 60));
        const SplitValue terms = split(value);
        for (float term : {terms.high, terms.middle, terms.low})
            ASSERT_EQ(roundedToBf16(term), term) << value;
        ASSERT_EQ(static_cast<double>(terms.high) + terms.middle + terms.low, static_cast<double>(value));
        ASSERT_LE(std::abs(terms.middle), std::ldexp(std::abs(value), -8));
        ASSERT_LE(std::abs(terms.low), std::ldexp(std::abs(value), -16));
    }
    EXPECT_EQ(roundedToBf16(1.0f + 1.0f / 256), 1.0f) << "ties go to even";
    EXPECT_EQ(roundedToBf16(1.0f + 3.0f / 256), 1.0f + 1.0f / 64);
}

TEST(CudaSplit, PlacesEveryTermOnce) {
    std::vector<int> hits(48 * kSplitTerms);
    for (int i = 0; i < 48; ++i) {
        for (int term = 0; term < kSplitTerms; ++term)
            ++hits[splitPlace(i, term)];
    }
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), static_cast<int>(hits.size()));
}

// Truncates a sum to f32 instead of rounding it, as tensor cores do in the worst known case.
float cutOff(double value) {
    const float nearest = static_cast<float>(value);
    return std::abs(static_cast<double>(nearest)) > std::abs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}

// Returns a dot product. Splits each f32 into three terms, and replaces a product by six products of terms.
float bySplits(const std::vector<float>& a, const std::vector<float>& b) {
    float total = 0;
    for (size_t step = 0; step < a.size(); step += kSplitStep) {
        float both = 0, ofRow = 0, ofColumn = 0;
        const auto add = [](float& sum, float x, float y) {
            sum = cutOff(static_cast<double>(sum) + static_cast<double>(x) * y);
        };
        for (size_t k = step; k < std::min(a.size(), step + kSplitStep); ++k) {
            const SplitValue x = split(a[k]), y = split(b[k]);
            add(both, x.middle, y.middle), add(both, x.high, y.high);
            add(ofRow, x.low, y.high), add(ofRow, x.middle, y.high);
            add(ofColumn, x.high, y.low), add(ofColumn, x.high, y.middle);
        }
        total += both + (ofRow + ofColumn);
    }
    return total;
}

std::vector<float> unitVector(int width, std::mt19937& random, float mean) {
    std::normal_distribution<float> normal(mean);
    std::vector<float> v(width), unit(width);
    for (float& x : v)
        x = normal(random);
    kernels::unitRow(v.data(), width, unit.data());
    return unit;
}

TEST(CudaSplit, SimilaritiesAreAsExactAsF32AndSymmetric) {
    std::mt19937 random(5);
    for (int width : {7, 64, 192, 768, 1024}) {
        // With a large mean, all products have the same sign, so their rounding errors add up.
        for (float mean : {0.0f, 3.0f, 100.0f}) {
            for (int i = 0; i < 50; ++i) {
                const auto a = unitVector(width, random, mean), b = unitVector(width, random, mean);
                const double exact = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
                const float found = bySplits(a, b);
                ASSERT_NEAR(found, exact, 2e-6) << width << " wide, mean " << mean;
                ASSERT_EQ(found, bySplits(b, a));
            }
        }
    }
}

TEST(CudaSplit, OneTermWouldNotDo) {
    std::mt19937 random(6);
    const auto a = unitVector(768, random, 100), b = unitVector(768, random, 100);
    double exact = 0, one = 0;
    for (int k = 0; k < 768; ++k) {
        exact += static_cast<double>(a[k]) * b[k];
        one += static_cast<double>(split(a[k]).high) * split(b[k]).high;
    }
    EXPECT_GT(std::abs(one - exact), 1e-5);
}

TEST(CudaRecent, AnnouncesThenKeepsWhatWasUsedLast) {
    Recent<int, int> recent(2);
    EXPECT_EQ(recent.meet(1), nullptr);
    ASSERT_NE(recent.meet(1), nullptr);
    *recent.meet(1) = 11;
    EXPECT_EQ(recent.meet(2), nullptr);
    EXPECT_EQ(*recent.meet(1), 11);
    EXPECT_EQ(recent.meet(3), nullptr);
    EXPECT_EQ(recent.size(), 2u);
    EXPECT_EQ(*recent.meet(1), 11) << "2 was unused for longest";
    EXPECT_EQ(recent.meet(2), nullptr);
    recent.clear();
    EXPECT_EQ(recent.meet(1), nullptr);
}

TEST(CudaStrides, RoundUp) {
    EXPECT_EQ(paddedWidth(7), 8);
    EXPECT_EQ(paddedWidth(768), 768);
    for (int rows = 0; rows < 5000; ++rows) {
        ASSERT_GE(roundedRows(rows), rows);
        ASSERT_LE(roundedRows(rows), roundedRows(rows + 1)) << "memory for more rows holds fewer";
        ASSERT_GE(roundedLength(rows), rows);
        ASSERT_LT(roundedLength(rows), rows + 64);
    }
}

}  // namespace
}  // namespace mpm::test
