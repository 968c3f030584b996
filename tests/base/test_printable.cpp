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

TEST(Printable, CharactersOfFormatAndOtherInvisibleOnesAreEscaped) {
    EXPECT_EQ(printable("a\u200Bb"), "a\\xe2\\x80\\x8bb") << "zero width space";
    for (const char* text :
         {"\u00AD",     "\u034F",     "\u0600",     "\u061C",     "\u06DD",     "\u070F",     "\u08E2",
          "\u115F",     "\u17B4",     "\u180E",     "\u200B",     "\u200D",     "\u200F",     "\u2028",
          "\u202E",     "\u2060",     "\u2064",     "\u2065",     "\u206F",     "\u3164",     "\uE000",
          "\uFEFF",     "\uFFA0",     "\uFFF9",     "\uFFFE",     "\U000110BD", "\U00013430", "\U0001BCA0",
          "\U0001D173", "\U000E0001", "\U000E0041", "\U000E0100", "\U000F0000", "\U0010FFFF"})
        EXPECT_EQ(printable(text).find("\\x"), 0u) << text;
    for (const char* text : {"\u00A1", "\u0606", "\u0301", "\u200A", "\u2010", "\u2027", "\u3000", "\u3163",
                             "\u2764\uFE0F", "\uFFFD", "\U000110BE", "\U0001F697"})
        EXPECT_EQ(printable(text), text);
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
