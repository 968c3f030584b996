#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include <opencv2/imgproc.hpp>
#if __has_include(<opencv2/geometry.hpp>)
#include <opencv2/geometry.hpp>
#endif

#include "pipeline/draw/font.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {
namespace {

bool sameText(const cv::Mat& a, const cv::Mat& b) {
    return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

TEST(Text, IsCutAtTheEdgesAndChangesOnlyItsPlace) {
    cv::Mat image(60, 120, CV_8UC3, cv::Scalar(255, 255, 255));
    drawText(image, "far outside", {500, 500}, {});
    drawText(image, "", {10, 10}, {});
    EXPECT_EQ(cv::norm(image, cv::Mat(60, 120, CV_8UC3, cv::Scalar(255, 255, 255)), cv::NORM_INF), 0);
    drawText(image, "cut at the right edge", {60, 30}, {});
    EXPECT_GT(cv::countNonZero(image.reshape(1) != 255), 0);
    EXPECT_EQ(cv::countNonZero(image.rowRange(45, 60).clone().reshape(1) != 255), 0);
    drawCaption(image, "caption");
}

cv::Mat written(const std::string& text, const TextStyle& style = {}) {
    cv::Mat image(60, 240, CV_8UC3, cv::Scalar::all(255));
    drawText(image, text, {10, 40}, style);
    return image;
}

TEST(Text, HasLettersOfOtherLanguages) {
    const cv::Mat plain = written("e"), accented = written("é");
    EXPECT_TRUE(sameText(plain.rowRange(34, 60).clone(), accented.rowRange(34, 60).clone())) << "the letter";
    EXPECT_FALSE(sameText(plain.rowRange(0, 34).clone(), accented.rowRange(0, 34).clone())) << "the accent";
    EXPECT_EQ(textSize("é", {}).width, textSize("e", {}).width);
    EXPECT_FALSE(sameText(written("±"), written("−")));
    EXPECT_GT(textSize("\xff", {}).width, 0) << "bytes that are not UTF-8";
}

TEST(Text, FillsItsSize) {
    for (const double height : {8.0, 11.0, 20.0}) {
        for (const double weight : {1.0, 1.6}) {
            const TextStyle style{height, {0, 0, 0}, weight};
            cv::Mat ink;
            cv::inRange(written("Hill HIT", style), cv::Scalar::all(0), cv::Scalar::all(200), ink);
            const cv::Rect box = cv::boundingRect(ink);
            EXPECT_NEAR(box.height, height, 0.06 * height + 2) << "a row of pixels more at each end";
            EXPECT_NEAR(box.br().y, 40, 1) << "on its base line";
            EXPECT_LE(box.width, textSize("Hill HIT", style).width);
            EXPECT_GE(box.width, 0.85 * textSize("Hill HIT", style).width);
        }
    }
    EXPECT_GT(textSize("bold", {11, {}, 1.6}).width, textSize("bold", {11, {}, 1}).width);
    EXPECT_NEAR(textWidth("AVAVAV", {11, {}, 1}) * 4, textWidth("AVAVAV", {44, {}, 1}), 2) << "scales";
}

TEST(Text, SeveralThreadsDrawTheSame) {
    const cv::Mat alone = written("threads");
    std::vector<cv::Mat> drawn(8);
    std::vector<std::thread> threads;
    for (cv::Mat& image : drawn)
        threads.emplace_back([&image] {
            for (int i = 0; i < 20; ++i)
                image = written("threads");
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const cv::Mat& image : drawn)
        EXPECT_TRUE(sameText(image, alone));
}

// Runs in a separate process, because a process searches fonts only once.
TEST(Text, IsDrawnWithoutAnyFontToo) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto drawWithoutFonts = [] {
        setenv("MPM_FONT", "/nowhere.ttf", 1);
        const bool none = Font::sans(false) == nullptr && Font::sans(true) == nullptr;
        const cv::Mat image = written("strokes");
        std::exit(none && cv::countNonZero(image.reshape(1) != 255) > 100 ? 0 : 1);
    };
    EXPECT_EXIT(drawWithoutFonts(), testing::ExitedWithCode(0), "");
    EXPECT_EQ(Font::open("/dev/null"), nullptr);
}

}  // namespace
}  // namespace mpm::pipeline
