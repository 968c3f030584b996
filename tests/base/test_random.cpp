#include "base/random.hpp"

#include <gtest/gtest.h>

using namespace mpm;

namespace {

TEST(Random, SeedOfTextIsStable) {
    EXPECT_EQ(seedOf("0001TP_006690"), seedOf("0001TP_006690"));
    EXPECT_NE(seedOf("a"), seedOf("b"));
}

}  // namespace
