#include <gtest/gtest.h>

#include <set>

#include <opencv2/imgproc.hpp>

#include "pipeline/chart/timeline.hpp"
#include "pipeline/draw/feature_colours.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/draw/text.hpp"
#include "support/comma_locale.hpp"

namespace mpm::pipeline {
namespace {

cv::Mat noise(cv::Size size) {
    cv::Mat image(size, CV_8UC3);
    cv::RNG(7).fill(image, cv::RNG::UNIFORM, 0, 256);
    return image;
}

bool same(const cv::Mat& a, const cv::Mat& b) {
    return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

/// Returns a random map of pairs and larger clusters: each cell may join its left or upper neighbour.
cv::Mat randomMap(cv::Size grid, int seed) {
    cv::RNG coin(seed);
    cv::Mat map(1, grid.area(), CV_32S);
    int next = 0;
    for (int i = 0; i < grid.area(); ++i) {
        const bool joins = i % grid.width > 0 && coin.uniform(0, 2) == 0;
        const bool joinsUp = !joins && i >= grid.width && coin.uniform(0, 4) == 0;
        map.at<int>(i) = joins ? map.at<int>(i - 1) : joinsUp ? map.at<int>(i - grid.width) : next++;
    }
    return map;
}

TEST(Palette, KeepsColoursApart) {
    const Palette colours = defaultPalette(64);
    std::set<std::tuple<int, int, int>> seen;
    for (const cv::Vec3b& c : colours)
        seen.insert({c[0], c[1], c[2]});
    EXPECT_EQ(seen.size(), 64u);
    const Palette completed = completePalette({{1, 2, 3}}, 4);
    EXPECT_EQ(completed.size(), 4u);
    EXPECT_EQ(completed[0], cv::Vec3b(1, 2, 3));
    EXPECT_EQ(completed[3], colours[3]);
}

/// Converts colours to CIE Lab. If `deuteranopia`, first simulates vision without green cones (Machado 2009).
cv::Mat labOf(const Palette& colours, bool deuteranopia) {
    cv::Mat rgb(1, static_cast<int>(colours.size()), CV_8UC3), linear, lab;
    std::copy(colours.begin(), colours.end(), rgb.begin<cv::Vec3b>());
    rgb.convertTo(linear, CV_32F, 1 / 255.);
    const cv::Matx33f seen(0.367322f, 0.860646f, -0.227968f, 0.280085f, 0.672501f, 0.047413f, -0.011820f,
                           0.042940f, 0.968881f);
    for (cv::Vec3f& pixel : cv::Mat_<cv::Vec3f>(linear)) {
        for (int i = 0; i < 3; ++i)
            pixel[i] =
                pixel[i] <= 0.04045f ? pixel[i] / 12.92f : std::pow((pixel[i] + 0.055f) / 1.055f, 2.4f);
        if (deuteranopia) pixel = seen * pixel;
        for (int i = 0; i < 3; ++i) {
            const float value = std::clamp(pixel[i], 0.f, 1.f);
            pixel[i] = value <= 0.0031308f ? 12.92f * value : 1.055f * std::pow(value, 1 / 2.4f) - 0.055f;
        }
    }
    cv::cvtColor(linear, lab, cv::COLOR_RGB2Lab);
    return lab;
}

TEST(Palette, IsSeenByColourBlindEyesAndOnBothThemes) {
    Palette colours = defaultPalette(20);
    // The background colours of bars, in the light and in the dark theme.
    const Palette grounds = {{255, 255, 255}, {0xE9, 0xEC, 0xF0}, {0x1C, 0x21, 0x29}, {0x2A, 0x31, 0x3C}};
    colours.insert(colours.end(), grounds.begin(), grounds.end());
    for (const bool deuteranopia : {false, true}) {
        const cv::Mat lab = labOf(colours, deuteranopia);
        for (int a = 0; a < 20; ++a)
            for (int b = a + 1; b < lab.cols; ++b) {
                const double apart = cv::norm(lab.at<cv::Vec3f>(a), lab.at<cv::Vec3f>(b));
                EXPECT_GT(apart, deuteranopia || b >= 20 ? 19 : 30) << a << " and " << b << deuteranopia;
            }
    }
}

TEST(Palette, FollowsTheMeaningOfNames) {
    const std::vector<std::string> names = {"sky",   "road, route", "Building", "car",
                                            "rider", "person",      "blob",     "house"};
    const Palette colours = namedPalette(names);
    ASSERT_EQ(colours.size(), names.size());
    const cv::Mat lab = labOf(colours, false);
    const auto chroma = [&lab](int id) {
        return std::hypot(lab.at<cv::Vec3f>(id)[1], lab.at<cv::Vec3f>(id)[2]);
    };
    for (int quiet = 0; quiet < 3; ++quiet)
        for (int vivid = 3; vivid < 6; ++vivid)
            EXPECT_LT(1.8 * chroma(quiet), chroma(vivid)) << quiet << ' ' << vivid;
    std::set<std::tuple<int, int, int>> seen;
    for (const cv::Vec3b& c : colours)
        seen.insert({c[0], c[1], c[2]});
    EXPECT_EQ(seen.size(), names.size());
    EXPECT_EQ(paletteOf({{1, 2, 3}}, names, 8)[0], cv::Vec3b(1, 2, 3));
    EXPECT_EQ(paletteOf({}, names, 300)[3], colours[3]);
    EXPECT_EQ(namedPalette(std::vector<std::string>(400, "car")).size(), 400u);
}

TEST(Labels, TakeTheirColourAndUnknownOnesAreBlack) {
    const Palette palette = {{10, 20, 30}, {40, 50, 60}};
    const cv::Mat labels = (cv::Mat_<uchar>(1, 3) << 0, 1, 200);
    const cv::Mat colours = colourLabels(labels, palette);
    EXPECT_EQ(colours.at<cv::Vec3b>(0), cv::Vec3b(30, 20, 10));
    EXPECT_EQ(colours.at<cv::Vec3b>(1), cv::Vec3b(60, 50, 40));
    EXPECT_EQ(colours.at<cv::Vec3b>(2), cv::Vec3b(0, 0, 0));
    cv::Mat wide;
    labels.convertTo(wide, CV_16U);
    EXPECT_TRUE(same(colourLabels(wide, palette), colours));
    EXPECT_THROW(colourLabels(cv::Mat(2, 2, CV_32F), palette), cv::Exception);
}

TEST(Overlay, OpacityRunsFromImageToColours) {
    const cv::Mat image = noise({40, 30}), labels(30, 40, CV_8U, cv::Scalar(1));
    const Palette palette = defaultPalette(2);
    OverlayStyle style;
    style.opacity = 0;
    EXPECT_TRUE(same(drawOverlay(image, labels, palette, style), image));
    style.opacity = 1;
    EXPECT_TRUE(same(drawOverlay(image, labels, palette, style), colourLabels(labels, palette)));
    style.hidden = {false, true};
    EXPECT_TRUE(same(drawOverlay(image, labels, palette, style), image));
}

TEST(Overlay, OutlinesLieOnBordersOnly) {
    const cv::Mat image = noise({40, 30});
    cv::Mat labels(30, 40, CV_8U, cv::Scalar(0));
    labels.colRange(20, 40) = 1;
    OverlayStyle with, without;
    without.outlines = false;
    cv::Mat differs;
    cv::absdiff(drawOverlay(image, labels, defaultPalette(2), with),
                drawOverlay(image, labels, defaultPalette(2), without), differs);
    for (int x = 0; x < 40; ++x)
        EXPECT_EQ(cv::norm(differs.col(x), cv::NORM_INF) > 0, x == 19) << x;
}

TEST(Shares, AddUpAndLeaveOutOtherIds) {
    const cv::Mat labels = (cv::Mat_<uchar>(2, 2) << 0, 0, 1, 255);
    EXPECT_EQ(classShares(labels, 2), (std::vector<double>{0.5, 0.25}));
}

TEST(Shares, AreOfWhatIsSeen) {
    const cv::Mat labels = (cv::Mat_<uchar>(2, 2) << 0, 0, 1, 0);
    const cv::Mat seen = (cv::Mat_<uchar>(2, 2) << 255, 0, 255, 0);
    EXPECT_EQ(classShares(labels, 2, seen), (std::vector<double>{0.5, 0.5}));
    EXPECT_TRUE(classShares(labels, 2, cv::Mat::zeros(2, 2, CV_8U)).empty());
    EXPECT_THROW(classShares(labels, 2, cv::Mat::zeros(1, 2, CV_8U)), cv::Exception);
}

TEST(MergeMap, NothingMergedIsGrey) {
    const cv::Size grid(8, 6);
    cv::Mat identity(1, grid.area(), CV_32S);
    for (int i = 0; i < grid.area(); ++i)
        identity.at<int>(i) = i;
    MergeMapStyle style;
    style.colours = MergeMapStyle::Colours::Distinct;
    const cv::Mat drawn = drawMergeMap(noise({80, 60}), identity, grid, style);
    cv::Mat channels[3];
    cv::split(drawn, channels);
    EXPECT_TRUE(same(channels[0], channels[1]));
    EXPECT_TRUE(same(channels[1], channels[2]));
}

TEST(MergeMap, TouchingClustersDifferAndDrawingIsDeterministic) {
    const cv::Size grid(32, 24);
    for (int seed = 1; seed <= 50; ++seed) {
        const cv::Mat map = randomMap(grid, seed);
        const Palette colours = clusterColours(map, grid);
        const std::vector<int> sizes = clusterSizes(map);
        const auto check = [&](int a, int b) {
            if (a == b || sizes[a] < 2 || sizes[b] < 2) return;
            EXPECT_NE(colours[a], colours[b]) << "clusters " << a << " and " << b << ", seed " << seed;
        };
        for (int i = 0; i < grid.area(); ++i) {
            if ((i + 1) % grid.width != 0) check(map.at<int>(i), map.at<int>(i + 1));
            if (i + grid.width < grid.area()) check(map.at<int>(i), map.at<int>(i + grid.width));
        }
        EXPECT_EQ(colours, clusterColours(map.clone(), grid));
    }
}

// By default, a cluster has the mean colour of all its patches, even if they do not touch.
TEST(MergeMap, MeanColoursAreThoseOfThePatches) {
    const cv::Size grid(4, 2);
    cv::Mat image(20, 40, CV_8UC3, cv::Scalar(0, 0, 0));
    image(cv::Rect(0, 0, 10, 10)) = cv::Scalar(200, 100, 40);
    image(cv::Rect(30, 10, 10, 10)) = cv::Scalar(100, 50, 20);
    const cv::Mat map = (cv::Mat_<int>(1, 8) << 0, 1, 2, 3, 4, 5, 6, 0);
    MergeMapStyle style;
    style.outlines = false;
    const cv::Mat drawn = drawMergeMap(image, map, grid, style);
    for (const cv::Point at : {cv::Point(5, 5), cv::Point(0, 9), cv::Point(35, 15)})
        EXPECT_EQ(drawn.at<cv::Vec3b>(at), cv::Vec3b(150, 75, 30));
    EXPECT_EQ(drawn.at<cv::Vec3b>(5, 15), cv::Vec3b(0, 0, 0));
    // There are outlines between clusters, but not inside a cluster.
    style.outlines = true;
    cv::Mat lines;
    cv::absdiff(drawMergeMap(image, identityMap(8), grid, style),
                drawMergeMap(image, cv::Mat::zeros(1, 8, CV_32S), grid, style), lines);
    EXPECT_GT(cv::norm(lines, cv::NORM_INF), 0);
    const cv::Mat one = drawMergeMap(image, cv::Mat::zeros(1, 8, CV_32S), grid, style);
    EXPECT_EQ(cv::norm(one, cv::Mat(one.size(), CV_8UC3, one.at<cv::Vec3b>(0, 0)), cv::NORM_INF), 0);
}

TEST(MergeMap, LargerClustersAreStronger) {
    const cv::Mat map = (cv::Mat_<int>(1, 8) << 0, 1, 1, 2, 2, 2, 2, 3);
    const Palette tints = clusterColours({}, map, {4, 2}, MergeMapStyle::Colours::Size);
    EXPECT_EQ(tints[0], tints[3]);
    EXPECT_EQ(tints[0], cv::Vec3b(128, 128, 128));
    EXPECT_GT(tints[1][1], tints[2][1]);  // less green means redder
}

TEST(Masked, BelongsToNoClass) {
    const cv::Mat labels(40, 40, CV_8U, cv::Scalar(1));
    cv::Mat drawn = drawOverlay(noise({40, 40}), labels, {{9, 9, 9}, {250, 20, 20}});
    const cv::Mat before = drawn.clone();
    cv::Mat seen(40, 40, CV_8U, cv::Scalar(255));
    seen.colRange(0, 20) = 0;
    drawMasked(drawn, seen);
    EXPECT_TRUE(same(drawn.colRange(20, 40), before.colRange(20, 40)));
    cv::Mat channels[3];
    cv::split(drawn.colRange(0, 20), channels);
    EXPECT_TRUE(same(channels[0], channels[1]) && same(channels[1], channels[2]));
    double most = 0;
    cv::minMaxLoc(channels[0], nullptr, &most);
    EXPECT_LT(most, 100);
}

/// Returns tokens of four kinds (from left to right) with `width` elements, and a little noise.
cv::Mat fourKinds(int seed, int width = 40, double offset = 0) {
    cv::Mat kinds(4, width, CV_32F), tokens(64, width, CV_32F);
    cv::RNG(5).fill(kinds, cv::RNG::NORMAL, 0, 1);
    cv::RNG(seed).fill(tokens, cv::RNG::NORMAL, offset, 0.05);
    for (int i = 0; i < tokens.rows; ++i)
        tokens.row(i) += kinds.row(i % 8 / 2);
    return tokens;
}

TEST(FeatureColours, TellKindsOfTokensApart) {
    FeatureColours colours;
    const cv::Mat drawn = colours.colours(fourKinds(1), {8, 8});
    for (int kind = 0; kind < 4; ++kind)
        for (int other = 0; other < 4; ++other) {
            const double far = cv::norm(cv::Vec3i(drawn.at<cv::Vec3b>(3, 2 * kind)) -
                                        cv::Vec3i(drawn.at<cv::Vec3b>(5, 2 * other + 1)));
            EXPECT_EQ(far < 60, kind == other) << kind << " " << other << ": " << far;
        }
}

// The first frames determine the principal components. Later frames do not change the components, so equal
// tokens keep their colours.
TEST(FeatureColours, AreStableOverTime) {
    FeatureColours colours;
    const cv::Mat first = colours.colours(fourKinds(1), {8, 8});
    for (int i = 2; i <= FeatureColours::kFrames; ++i) {
        const cv::Mat next = colours.colours(fourKinds(i), {8, 8});
        EXPECT_LT(cv::norm(first, next, cv::NORM_L1) / (64 * 3), 12) << i;
    }
    EXPECT_TRUE(colours.settled());
    const cv::Mat before = colours.colours(fourKinds(77), {8, 8});
    for (int i = 0; i < 20; ++i)
        colours.colours(fourKinds(100 + i, 40, 3), {8, 8});
    EXPECT_TRUE(same(colours.colours(fourKinds(77), {8, 8}), before));
    EXPECT_THROW(colours.colours(fourKinds(1, 41), {8, 8}), cv::Exception);
}

TEST(FeatureColours, NothingIsLearnedFromABlackFrame) {
    FeatureColours colours;
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(colours.colours(cv::Mat::ones(64, 40, CV_32F), {8, 8}).at<cv::Vec3b>(0, 0),
                  cv::Vec3b(128, 128, 128));
    EXPECT_FALSE(colours.settled());
    colours.colours(fourKinds(1), {8, 8}, false);  // the first frame is always learned
    EXPECT_NE(colours.colours(fourKinds(1), {8, 8}).at<cv::Vec3b>(0, 0), cv::Vec3b(128, 128, 128));
}

TEST(FeatureColours, NarrowFeaturesHaveFewerColours) {
    for (const int width : {1, 2, 3}) {
        FeatureColours colours;
        EXPECT_EQ(colours.colours(fourKinds(1, width), {8, 8}).size(), cv::Size(8, 8)) << width;
    }
}

TEST(MergeMap, CoversImagesThatAreNoMultipleOfTheGrid) {
    for (const cv::Size size : {cv::Size(33, 25), cv::Size(7, 5), cv::Size(641, 479)}) {
        const cv::Mat drawn = drawMergeMap(noise(size), randomMap({32, 24}, 3), {32, 24});
        EXPECT_EQ(drawn.size(), size);
    }
}

TEST(MergeMap, RefusesWhatDoesNotFit) {
    const cv::Mat image = noise({32, 32});
    EXPECT_THROW(drawMergeMap(image, randomMap({4, 4}, 1), {5, 4}), cv::Exception);
    EXPECT_THROW(drawMergeMap(image, cv::Mat(1, 16, CV_32F), {4, 4}), cv::Exception);
    EXPECT_THROW(drawMergeMap(image, cv::Mat(1, 16, CV_32S, cv::Scalar(-1)), {4, 4}), cv::Exception);
    EXPECT_THROW(drawMergeMap(image, cv::Mat(1, 16, CV_32S, cv::Scalar(99)), {4, 4}), cv::Exception);
}

TEST(Labels, ColoursFadeWhereTheLabelIsNotSure) {
    const cv::Mat image(1, 3, CV_8UC3, cv::Scalar::all(100)), labels = cv::Mat::zeros(1, 3, CV_8U);
    const cv::Mat scores = (cv::Mat_<float>(1, 3) << 1, 0.5, 0);
    OverlayStyle style;
    style.opacity = 1, style.outlines = false;
    const Palette palette = {{200, 100, 0}};
    EXPECT_TRUE(
        same(drawOverlay(image, labels, palette, style, scores), drawOverlay(image, labels, palette, style)));
    style.confidence = true;
    const cv::Mat drawn = drawOverlay(image, labels, palette, style, scores);
    EXPECT_EQ(drawn.at<cv::Vec3b>(0), cv::Vec3b(0, 100, 200));
    EXPECT_EQ(drawn.at<cv::Vec3b>(1), cv::Vec3b(75, 100, 125));
    EXPECT_EQ(drawn.at<cv::Vec3b>(2), cv::Vec3b(100, 100, 100));
    EXPECT_THROW(drawOverlay(image, labels, palette, style, scores.colRange(0, 2)), cv::Exception);
}

std::vector<TimelinePoint> dayAndNight() {
    std::vector<TimelinePoint> points;
    for (int hour = 0; hour <= 24; ++hour) {
        const bool night = hour < 6 || hour >= 18;
        points.push_back({double(hour), {night ? 800 : 780, night ? 620 : 600}, night ? 0.1 : 0.5, night});
    }
    return points;
}

TEST(Timeline, SummarisesByDayAndByNight) {
    const DayNightSummary summary = summarise(dayAndNight());
    EXPECT_EQ(summary.days, 12);
    EXPECT_EQ(summary.nights, 13);
    EXPECT_DOUBLE_EQ(summary.dayMean, 600);
    EXPECT_DOUBLE_EQ(summary.nightMean, 620);
    EXPECT_NEAR(summary.difference(), 100.0 * 20 / 600, 1e-9);
    EXPECT_NEAR(summary.daySpread, 0, 1e-9);
    EXPECT_EQ(summarise({{0, {0}, 0.5, false}, {1, {9}, 0.1, true}}).difference(), 0)
        << "no share of nothing";
}

TEST(Timeline, DrawsAnyNumberOfPoints) {
    TimelineStyle style;
    style.unit = "h";
    style.tokensIn = 1024;
    EXPECT_EQ(drawTimeline({}, style).size(), style.size);
    EXPECT_EQ(drawTimeline({dayAndNight().front()}, style).size(), style.size);
    const cv::Mat day = drawTimeline(dayAndNight(), style);
    EXPECT_TRUE(same(day, drawTimeline(dayAndNight(), style)));
    EXPECT_EQ(drawTimeline({{0, {}, 0, false}, {1, {}, 0, true}}, style).size(), style.size);
}

TEST(Numbers, AreDrawnTheSameInALocaleWithADecimalComma) {
    const auto timeline = [] { return drawTimeline(dayAndNight()); };
    const cv::Mat before = timeline();
    const test::CommaLocale comma;
    EXPECT_TRUE(same(timeline(), before));
}

TEST(Timeline, ASingleMomentHasAnAxisOfWholeUnitsAndNoNameIsClipped) {
    const TimelineStyle style;
    const TimelinePoint moment = {5, {700}, 0.4, true};
    TimelinePoint later = moment;
    later.time = 6;
    const auto names = [&](const std::vector<TimelinePoint>& points) {
        return drawTimeline(points, style).rowRange(style.size.height - 30, style.size.height).clone();
    };
    EXPECT_TRUE(same(names({moment}), names({moment, later})));
    later.time = 5'000'005;
    const cv::Mat last = names({moment, later}).colRange(style.size.width - 2, style.size.width).clone();
    EXPECT_EQ(cv::countNonZero(last.reshape(1) != 255), 0);
}

TEST(Panels, StandSideBySideAtOneHeight) {
    const cv::Mat sheet = drawPanels({{"a", noise({40, 30})}, {"b", noise({80, 60})}}, "footer");
    EXPECT_GT(sheet.cols, 80);
    EXPECT_THROW(drawPanels({}), cv::Exception);
}

}  // namespace
}  // namespace mpm::pipeline
