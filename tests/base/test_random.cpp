#include "base/random.hpp"

#include <gtest/gtest.h>

using namespace mpm;

namespace {

TEST(Random, PoissonHasItsMeanAndVariance) {
    for (double mean : {0.5, 7.0, 90.0}) {
        Random random(5);
        double sum = 0, squares = 0;
        const int count = 40000;
        for (int i = 0; i < count; ++i) {
            const double events = random.poisson(mean);
            sum += events;
            squares += events * events;
        }
        EXPECT_NEAR(sum / count, mean, 4 * std::sqrt(mean / count));
        EXPECT_NEAR(squares / count - sum * sum / count / count, mean, 0.05 * mean);
    }
}

TEST(Random, SeedOfTextIsStable) {
    EXPECT_EQ(seedOf("0001TP_006690"), seedOf("0001TP_006690"));
    EXPECT_NE(seedOf("a"), seedOf("b"));
}

}  // namespace
