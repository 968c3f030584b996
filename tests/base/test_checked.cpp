#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <vector>

#include "base/checked.hpp"

namespace mpm {
namespace {

TEST(Checked, ProductsThatFitAreExact) {
    EXPECT_EQ(checkedProduct<int>(46340, 46340), 2147395600);
    EXPECT_EQ(checkedProduct<std::size_t>(65536, 65536, 4), std::size_t{1} << 34);
    EXPECT_EQ(checkedProduct<std::int64_t>(-3, 5), -15);
    EXPECT_EQ(checkedProduct<int>(), 1);
}

TEST(Checked, ProductsThatDoNotFitThrow) {
    EXPECT_THROW(checkedProduct<int>(46341, 46341), cv::Exception);
    EXPECT_THROW(checkedProduct<std::size_t>(-1, 4), cv::Exception);
    EXPECT_THROW(checkedProduct<std::int64_t>(INT64_MAX, 2), cv::Exception);
    EXPECT_THROW(checkedProduct<std::uint8_t>(16, 16), cv::Exception);
    int product = 7;
    EXPECT_FALSE(productFits(product, 1 << 20, 1 << 20));
}

TEST(Checked, AZeroMakesAnyProductZero) {
    EXPECT_EQ(checkedProduct<int>(INT_MAX, INT_MAX, 0), 0);
    EXPECT_EQ(checkedTotal<int>(std::vector<int>{INT_MAX, INT_MAX, 0}), 0);
}

TEST(Checked, SumsAndDifferences) {
    EXPECT_EQ(checkedSum<int>(INT_MAX - 1, 1), INT_MAX);
    EXPECT_THROW(checkedSum<int>(INT_MAX, 1), cv::Exception);
    EXPECT_EQ(checkedDifference<int>(1, 3), -2);
    EXPECT_THROW(checkedDifference<std::size_t>(1, 3), cv::Exception);
    EXPECT_THROW(checkedDifference<int>(INT_MIN, 1), cv::Exception);
}

TEST(Checked, CastsKeepTheValueOrThrow) {
    EXPECT_EQ(checkedCast<int>(std::int64_t{INT_MAX}), INT_MAX);
    EXPECT_THROW(checkedCast<int>(std::int64_t{INT_MAX} + 1), cv::Exception);
    EXPECT_THROW(checkedCast<std::size_t>(-1), cv::Exception);
}

TEST(Checked, ShapesAreRejectedWhereASizeIsNegativeOrTheTotalTooLarge) {
    EXPECT_EQ(checkedTotal<int>(std::vector<int>{2, 3, 4}), 24);
    EXPECT_EQ(checkedTotal<int>(std::vector<int>{}), 1);
    EXPECT_THROW(checkedTotal<int>(std::vector<int>{-1, 3}), cv::Exception);
    EXPECT_THROW(checkedTotal<int>(std::vector<int>{0, -3}), cv::Exception);
    EXPECT_THROW(checkedTotal<int>(std::vector<int>{65536, 65536}), cv::Exception);
    try {
        checkedProduct<int>(65536, 65536);
        FAIL();
    } catch (const cv::Exception& error) {
        EXPECT_NE(error.err.find("65536 x 65536"), std::string::npos) << error.err;
    }
}

}  // namespace
}  // namespace mpm
