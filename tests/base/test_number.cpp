#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "base/number.hpp"
#include "support/comma_locale.hpp"

namespace mpm {
namespace {

const double kValues[] = {0,        -0.0,      0.5,       1,    -1.25, 1e-5,     0.000123456789,
                          123456.5, 1e6,       1234567.0, 1e20, 1e300, 2.5e-310, 0.3 + 0.1,
                          INFINITY, -INFINITY, -1e300};

std::string printed(const char* format, int digits, double value) {
    char text[400];
    std::snprintf(text, sizeof text, format, digits, value);
    return text;
}

double readWhole(const std::string& text) {
    const NumberRead read = readNumber(text.data(), text.data() + text.size());
    EXPECT_EQ(read.end, text.data() + text.size()) << text;
    return read.value;
}

TEST(Number, IsWrittenAndReadAsInC) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> exponent(-12, 12), mantissa(-10, 10);
    std::vector<double> values(std::begin(kValues), std::end(kValues));
    for (int i = 0; i < 20'000; ++i)
        values.push_back(mantissa(random) * std::pow(10, exponent(random)));
    for (const double value : values) {
        const std::string text = numberText(value);
        EXPECT_EQ(text, printed("%.*g", 6, value));
        EXPECT_EQ(readWhole(text), std::strtod(text.c_str(), nullptr));
        for (const int digits : {0, 1, 3})
            EXPECT_EQ(fixedText(value, digits), printed("%.*f", digits, value));
    }
}

TEST(Number, LargestOfAllIsWrittenWhole) {
    const double largest = std::numeric_limits<double>::max();
    EXPECT_EQ(fixedText(-largest, 3), printed("%.*f", 3, -largest));
}

TEST(Number, IsReadUpToWhereItEnds) {
    const std::string text = " 0.25,-3e2";
    const NumberRead first = readNumber(text.data(), text.data() + text.size());
    EXPECT_EQ(first.value, 0.25);
    EXPECT_EQ(first.end, text.data() + 5);
    EXPECT_EQ(readWhole("-3e2"), -300);
    for (const std::string none : {"", "  ", "]", ",1", "x"}) {
        const NumberRead read = readNumber(none.data(), none.data() + none.size());
        EXPECT_EQ(read.end, none.data()) << none;
        EXPECT_EQ(read.value, 0) << none;
    }
}

TEST(Number, HasAPointWhereTheLocaleHasAComma) {
    const test::CommaLocale comma;
    ASSERT_EQ(printed("%.*f", 1, 0.5), "0,5");
    EXPECT_EQ(numberText(0.167295), "0.167295");
    EXPECT_EQ(fixedText(-12.5, 2), "-12.50");
    EXPECT_EQ(readWhole("0.240885"), 0.240885);
}

}  // namespace
}  // namespace mpm
