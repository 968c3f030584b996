#include <gtest/gtest.h>

#include <thread>

#include "base/budget.hpp"

namespace mpm {
namespace {

TEST(Budget, NamesTheLimitItsValueAndTheOption) {
    Budget budget(1000);
    budget.takeBytes(600, "a");
    budget.giveBytes(100);
    budget.takeBytes(500, "b");
    try {
        budget.takeBytes(1, "the output of Expand");
        FAIL();
    } catch (const BudgetError& error) {
        EXPECT_NE(error.err.find("the output of Expand"), std::string::npos);
        EXPECT_NE(error.err.find("--max-memory 1000"), std::string::npos);
    }
    EXPECT_THROW(Budget(10).takeBytes(INT64_MAX, "all"), BudgetError);
    EXPECT_THROW(Budget(10).takeBytes(-1, "a wrapped size"), BudgetError);
}

TEST(Budget, WithoutALimitOnlyNegativeSizesAreRejected) {
    Budget budget;
    budget.takeBytes(INT64_MAX / 2, "much");
    budget.checkTime();
    EXPECT_THROW(budget.takeBytes(-1, "a wrapped size"), BudgetError);
}

TEST(Budget, TimeIsOverWhenItIsOver) {
    const Budget budget(0, 0.01);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    try {
        budget.checkTime();
        FAIL();
    } catch (const BudgetError& error) {
        EXPECT_NE(error.err.find("--max-seconds 0.01"), std::string::npos) << error.err;
    }
}

}  // namespace
}  // namespace mpm
