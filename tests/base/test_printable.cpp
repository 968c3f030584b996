#include <gtest/gtest.h>

#include "base/printable.hpp"

namespace mpm {
namespace {

TEST(Printable, OrdinaryTextStaysAsItIs) {
    for (const char* text : {"", "a b", "Straße", "日本語", "\xF0\x9F\x9A\x97", "50 % {x} <b>"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
    EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
    EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
    EXPECT_EQ(printable("\xC2\x9B"
                        "1m"),
              "\\xc2\\x9b"
              "1m")
        << "the one-byte escape of 8-bit terminals";
    EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("a\xE2\x80\xAEtxt.exe"), "a\\xe2\\x80\\xaetxt.exe") << "right-to-left override";
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
    EXPECT_EQ(printable("\xFF"), "\\xff");
    EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "overlong";
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(printable("\xE2\x82"), "\\xe2\\x82") << "cut off";
    EXPECT_FALSE(isUtf8("\xF4\x90\x80\x80"));
    EXPECT_TRUE(isUtf8("\xF4\x8F\xBF\xBF"));
}

TEST(Printable, LongTextLosesItsMiddle) {
    const std::string text = printable(std::string(1000, 'a') + std::string(1000, 'b'), 20);
    EXPECT_EQ(text, "aaaaaaaaaa ... bbbbbbbbbb");
    std::string cars;
    for (int i = 0; i < 100; ++i)
        cars += "\xF0\x9F\x9A\x97";
    EXPECT_EQ(printable(cars, 21).find("\\x"), std::string::npos) << "cut between characters";
}

TEST(Printable, LinesStayWhereTheyAreWanted) {
    EXPECT_EQ(printableLines(std::string("a\x1b\n") + "b\n"), "a\\x1b\nb\n");
}

}  // namespace
}  // namespace mpm
