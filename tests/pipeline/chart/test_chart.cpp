#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include <opencv2/imgproc.hpp>
#if __has_include(<opencv2/geometry.hpp>)
#include <opencv2/geometry.hpp>
#endif

#include "pipeline/chart/axis.hpp"
#include "pipeline/chart/canvas.hpp"
#include "pipeline/chart/figure.hpp"
#include "support/comma_locale.hpp"

namespace mpm::pipeline {
namespace {

Figure figure() {
    PlotSeries one, other;
    one.name = "one <&>", other.name = "other";
    one.points = {{1, 10, 0, 0, "first"}, {2, 20, 0.2, 0, "second"}, {3, NAN, 0, 0, "nowhere"}};
    other.points = {{1, 30, 0, 3, {}}};
    other.dashed = true;
    return {"A title",
            {{"left", "x", "y", {one, other}, {}, false, 0, 0},
             {"right", "", "y", {other}, {"a", "b", "c"}, false, 0, 0}}};
}

int count(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {}));
}

TEST(Plot, AxisHasRoundTicksInside) {
    for (const auto& [from, to] :
         std::vector<std::pair<double, double>>{{0, 1}, {33.1, 37.6}, {-4, 900}, {1e-6, 2e-6}}) {
        const Axis axis(from, to, 100, 500);
        const auto ticks = axis.ticks(5);
        ASSERT_GE(ticks.size(), 3u);
        ASSERT_LE(ticks.size(), 7u);
        for (const double tick : ticks) {
            EXPECT_GE(tick, from - 1e-9);
            EXPECT_LE(tick, to + 1e-9);
            EXPECT_NEAR(std::stod(axis.text(tick, 5)), tick, 1e-6 * (to - from));
        }
        EXPECT_DOUBLE_EQ(axis.pixel(from), 100);
        EXPECT_DOUBLE_EQ(axis.pixel(to), 500);
    }
    EXPECT_LT(Axis(7, 7, 0, 1).from(), 7);  // a single value still has an axis
}

// A name has the same colour in all figures of a report, whatever other names a figure has.
TEST(Plot, NamesKeepTheirColourFromFigureToFigure) {
    const auto colourOf = [](const Figure& figure, const std::string& name) {
        const std::string svg = toSvg(figure);
        const std::regex entry("<rect[^>]*fill=\"(#[0-9a-f]{6})\"[^>]*/>\n<text[^>]*>" + name + "</text>");
        std::smatch found;
        return std::regex_search(svg, found, entry) ? found[1].str() : "none";
    };
    PlotSeries mpm, tome, all;
    mpm.name = "mpm", tome.name = "tome", all.name = "all tokens";
    mpm.points = tome.points = all.points = {{1, 1, 0, 0, {}}, {2, 2, 0, 0, {}}};
    const auto with = [](std::vector<PlotSeries> series) {
        Figure made{"title", {{"panel", "x", "y", std::move(series), {}, false, 0, 0}}};
        made.colours = {"all tokens", "mpm", "tome"};
        return made;
    };
    const std::string colour = colourOf(with({all, mpm, tome}), "tome");
    EXPECT_NE(colour, "none");
    EXPECT_EQ(colourOf(with({tome, mpm}), "tome"), colour);
    PlotSeries setting = tome;
    setting.name = "tome:r=13", setting.colourOf = "tome";
    EXPECT_EQ(colourOf(with({mpm, setting}), "tome:r=13"), colour);
    EXPECT_NE(colourOf(with({tome, mpm}), "mpm"), colour);
}

TEST(Plot, TheSameInEveryLanguage) {
    const std::string svg = toSvg(figure()), tick = Axis(0, 1, 0, 100).text(0.5, 5);
    EXPECT_EQ(tick, "0.5");
    const test::CommaLocale comma;
    EXPECT_EQ(toSvg(figure()), svg);
    EXPECT_EQ(Axis(0, 1, 0, 100).text(0.5, 5), tick);
}

TEST(Plot, SvgHoldsWhatWasAsked) {
    const std::string svg = toSvg(figure());
    EXPECT_EQ(svg.rfind("<svg", 0), 0u);
    EXPECT_NE(svg.find("one &lt;&amp;&gt;"), std::string::npos);
    EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
    EXPECT_EQ(count(svg, "<circle"), 3) << "two points of one, one of the other; NaN is no point";
    EXPECT_EQ(count(svg, ">first<"), 1);
    EXPECT_EQ(count(svg, ">nowhere<"), 0);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, HasBackgroundTitleAndOrigin) {
    Figure made = figure();
    const std::string without = toSvg(made);
    made.origin = originText({"street.onnx", "", "line\nbreak"});
    EXPECT_TRUE(
        std::regex_match(made.origin, std::regex("street.onnx · line\\\\nbreak · \\d{4}-\\d\\d-\\d\\d")))
        << made.origin;
    const std::string svg = toSvg(made);
    EXPECT_NE(svg.find("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"), std::string::npos);
    EXPECT_NE(svg.find(">A title</text>"), std::string::npos);
    EXPECT_NE(svg.find(">" + made.origin + "</text>"), std::string::npos);
    EXPECT_EQ(without.find("street.onnx"), std::string::npos);
    EXPECT_EQ(toImage(made).rows, toImage(figure()).rows + 2 * 20);
}

// A label fits into the reserved width, because SVG and images use the same font.
TEST(Plot, TextFitsItsPlace) {
    PixelCanvas canvas({300, 60}, 2);
    canvas.text("tome:r=13, all blocks", {20, 40}, 11.5, {}, Anchor::Start, false);
    cv::Mat ink;
    cv::inRange(canvas.image(), cv::Scalar::all(0), cv::Scalar::all(200), ink);
    const cv::Rect box = cv::boundingRect(ink);
    EXPECT_NEAR(box.x, 40, 3);
    EXPECT_NEAR(box.width, 2 * textWidth("tome:r=13, all blocks", 11.5), 4);
}

TEST(Plot, SeriesOfOneNameShareAColour) {
    const cv::Mat image = toImage(figure());
    EXPECT_EQ(image.cols, 2 * 2 * 460);
    const cv::Scalar second(0, 94, 213);  // the second colour, BGR
    cv::Mat left, right;
    cv::inRange(image.colRange(0, 920), second, second, left);
    cv::inRange(image.colRange(920, 1840), second, second, right);
    EXPECT_GT(cv::countNonZero(left), 50);
    EXPECT_GT(cv::countNonZero(right), 1000) << "a bar";
}

// If all bars are positive, the axis starts at 0, even if the shortest bar is very small.
TEST(Plot, BarsStandOnTheirAxis) {
    const auto bottom = [](double least) {
        PlotSeries series;
        series.points = {{0, 10, 0, 0, {}}, {1, least, 0, 0, {}}};
        const std::string svg = toSvg({"bars", {{"panel", "", "y", {series}, {"a", "b"}, false, 0, 0}}});
        const std::regex bar("<rect x=\"[^\"]*\" y=\"([^\"]*)\" width=\"[^\"]*\" height=\"([^\"]*)\"");
        std::smatch found;
        return std::regex_search(svg, found, bar) ? std::stod(found[1]) + std::stod(found[2]) : 0;
    };
    const double edge = bottom(5);
    EXPECT_GT(edge, 100);
    EXPECT_NEAR(bottom(0.1), edge, 0.2);
    EXPECT_NEAR(bottom(0), edge, 0.2);
    EXPECT_LT(bottom(-5), edge - 50) << "there is room for a bar below 0";
}

TEST(Plot, NothingToDrawIsNoError) {
    EXPECT_NE(toSvg({"empty", {{"panel", "x", "y", {}, {}, false, 0, 0}}}).find("empty"), std::string::npos);
    EXPECT_FALSE(toImage({"empty", {{"panel", "x", "y", {PlotSeries{}}, {}, true, 0, 0}}}).empty());
}

}  // namespace
}  // namespace mpm::pipeline
