// Rain, headlights, shadows and insects must change the image, but not the labels. Equal calls must give
// equal frames.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "street/street.hpp"

namespace mpm::street {
namespace {

const cv::Size kSize(160, 120);

/// Differences between frames with and without a script: the numbers of brighter and of darker channel
/// values in all frames.
struct Change {
    int brighter = 0, darker = 0;
    double most = 0;  ///< largest share of changed values in a frame
};

Change changeOf(Script script, bool night) {
    Change change;
    Street street(kSize, 3, 1);
    for (int i = 0; i < 60; ++i) {
        const double seconds = i * .25;
        const StreetFrame before = street.at(night ? 23 : 13, seconds);
        StreetFrame after = before;
        after.image = before.image.clone();
        paintScript(script, seconds, 7, after);
        EXPECT_EQ(cv::norm(before.labels, after.labels, cv::NORM_INF), 0);
        const int brighter = cv::countNonZero(cv::Mat(after.image.reshape(1) > before.image.reshape(1)));
        const int darker = cv::countNonZero(cv::Mat(after.image.reshape(1) < before.image.reshape(1)));
        change.brighter += brighter, change.darker += darker;
        change.most = std::max(change.most, (brighter + darker) / (3. * kSize.area()));
    }
    return change;
}

TEST(Script, NoneChangesNothing) {
    EXPECT_EQ(changeOf(Script::None, false).most, 0);
}

TEST(Script, RainIsInEveryPartOfTheFrame) {
    Street street({320, 240}, 3, 1);
    const StreetFrame before = street.at(13, 1);
    StreetFrame after = before;
    after.image = before.image.clone();
    paintScript(Script::Rain, 1, 7, after);
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 4; ++x) {
            const cv::Rect part(80 * x, 80 * y, 80, 80);
            EXPECT_GT(cv::norm(before.image(part), after.image(part), cv::NORM_INF), 5) << x << " " << y;
        }
}

TEST(Script, HeadlightsAndInsectsBrightenShadowsDarken) {
    const Change lights = changeOf(Script::Headlights, true), insects = changeOf(Script::Insects, true),
                 shadows = changeOf(Script::Shadows, false);
    EXPECT_GT(lights.brighter, 0);
    EXPECT_GT(lights.most, .05);
    EXPECT_GT(insects.brighter, 0);
    EXPECT_LT(insects.most, .1);
    EXPECT_GT(shadows.darker, 0);
    EXPECT_EQ(shadows.brighter, 0);
    EXPECT_EQ(lights.darker, 0);
}

TEST(Script, TheSameClipGivesTheSameFrames) {
    for (const std::string& name : clipLights()) {
        Clip first(kSize, clipLight(name), 5, 4), second(kSize, clipLight(name), 5, 4);
        second.frame(9);  // earlier requests change nothing
        const StreetFrame a = first.frame(7), b = second.frame(7);
        EXPECT_EQ(cv::norm(a.image, b.image, cv::NORM_INF), 0) << name;
        EXPECT_EQ(a.objects.size(), b.objects.size());
    }
    EXPECT_THROW(clipLight("fog"), cv::Exception);
}

}  // namespace
}  // namespace mpm::street
