#include "pipeline/source/source_error.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace mpm::pipeline;
using Kind = SourceProblem::Kind;

TEST(SourceError, MessagesNameTheSourceAndHoldTheArguments) {
    const SourceError error(Kind::VideoDamaged, "a.avi", {"3", "8"});
    EXPECT_EQ(error.kind(), Kind::VideoDamaged);
    EXPECT_STREQ(error.what(), "a.avi: damaged after frame 3 of 8");
    EXPECT_EQ(SourceError("text").problem(), (SourceProblem{Kind::Other, "", {"text"}}));
    EXPECT_STREQ(SourceError("text").what(), "text");
    EXPECT_EQ(SourceProblem().message(), "");
}

TEST(SourceError, ArgumentsAreNotReadAsPlaces) {
    EXPECT_EQ((SourceProblem{Kind::VideoDamaged, "", {"%2", "%1"}}).message(),
              "damaged after frame %2 of %1");
    EXPECT_EQ((SourceProblem{Kind::Other, "", {"100 % of %3"}}).message(), "100 % of %3");
}

TEST(SourceError, EveryKindHasASentenceOfItsOwn) {
    std::set<std::string> sentences;
    for (int kind = 0; kind < SourceProblem::kKinds; ++kind) {
        const bool quotes = Kind(kind) == Kind::Other || Kind(kind) == Kind::UnreadableImage;
        const std::string text = (SourceProblem{Kind(kind), "", {"argument"}}).message();
        EXPECT_EQ(text.empty(), Kind(kind) == Kind::None) << kind;
        EXPECT_TRUE(quotes || sentences.insert(text).second) << text;
    }
}

TEST(SourceError, SecretsAreMaskedInEveryText) {
    const SourceProblem problem = redacted(
        SourceProblem{Kind::Other, "rtsp://u:Zq9@h/a", {"cannot open rtsp://u:Zq9@h/a", "password=Zq9"}});
    EXPECT_EQ(problem.source.find("Zq9"), std::string::npos);
    EXPECT_EQ(problem.message().find("Zq9"), std::string::npos);
    EXPECT_EQ(problem.arguments[1].find("Zq9"), std::string::npos);
}
