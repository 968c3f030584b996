#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/random.hpp"
#include "street/layout/layout.hpp"
#include "street/street.hpp"

namespace mpm::street {
namespace {

/// The state of an object that passes once in each period, along a different path each time.
struct Passage {
    double share = 0;  ///< share of the path that the object has passed
    Random random;
};

/// Returns the passage at this second; `share` is negative if nothing passes.
Passage passageAt(double seconds, double period, double lasts, uint64_t seed) {
    const double number = std::floor(seconds / period);
    Random random(mixSeed(seed, static_cast<uint64_t>(static_cast<int64_t>(number))));
    const double begins = random.uniform(0, period - lasts), since = seconds - number * period - begins;
    return {since >= 0 && since < lasts ? since / lasts : -1, random};
}

/// Moves each pixel's colour towards `colour` in proportion to the mask (CV_8U).
void blend(const cv::Mat& mask, const cv::Vec3b& colour, cv::Mat& image) {
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            if (const int share = mask.at<uchar>(y, x))
                for (int c = 0; c < 3; ++c) {
                    uchar& value = image.at<cv::Vec3b>(y, x)[c];
                    value = static_cast<uchar>(value + (colour[c] - value) * share / 255);
                }
}

/// Multiplies pixels by 1 + (gain - 1) * mask / 255. If `labels` is not empty, changes only road and
/// pavement.
void scale(const cv::Mat& mask, float gain, const cv::Mat& labels, cv::Mat& image) {
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x) {
            const int share = mask.at<uchar>(y, x);
            if (share == 0) continue;
            if (!labels.empty() && labels.at<uchar>(y, x) != kRoad && labels.at<uchar>(y, x) != kPavement)
                continue;
            const float by = 1 + (gain - 1) * static_cast<float>(share) / 255;
            for (uchar& value : image.at<cv::Vec3b>(y, x).val)
                value = cv::saturate_cast<uchar>(static_cast<float>(value) * by);
        }
}

void softEllipse(cv::Mat& mask, cv::Point2d middle, cv::Size2d axes, double angle, int value, double blur) {
    if (axes.width < 1 || axes.height < 1) axes = {std::max(1., axes.width), std::max(1., axes.height)};
    cv::ellipse(mask, {cv::Point2f(middle), cv::Size2f(axes), static_cast<float>(angle)},
                cv::Scalar::all(value), cv::FILLED, cv::LINE_AA);
    const int side = 2 * cvRound(blur) + 1;
    if (side > 1) cv::blur(mask, mask, {side, side});
}

void paintRain(double seconds, uint64_t seed, cv::Mat& image) {
    Random random(mixSeed(seed, static_cast<uint64_t>(static_cast<int64_t>(std::floor(seconds * 1000)))));
    cv::Mat mask = cv::Mat::zeros(image.size(), CV_8U);
    const int rows = image.rows, columns = image.cols;
    const auto drops = static_cast<int>(image.total() / 900);
    for (int i = 0; i < drops; ++i) {
        const double near = std::pow(random.uniform(), 3);  // most drops are far
        const double length = rows * (.015 + .07 * near), lean = random.uniform(.05, .2);
        const cv::Point2d from(random.uniform(-.1, 1.1) * columns, random.uniform(-.1, 1) * rows);
        cv::line(mask, cv::Point(from), cv::Point(from + cv::Point2d(lean * length, length)),
                 cv::Scalar::all(random.uniform(35, 60) + 90 * near), near > .6 ? 2 : 1, cv::LINE_AA);
    }
    const cv::Scalar mean = cv::mean(image);
    const auto light = cv::saturate_cast<uchar>(40 + 1.3 * (mean[0] + mean[1] + mean[2]) / 3);
    blend(mask, {light, light, light}, image);
}

void paintHeadlights(double seconds, uint64_t seed, cv::Mat& image) {
    Passage sweep = passageAt(seconds, 5, 2, seed);
    if (sweep.share < 0) return;
    const bool back = sweep.random.chance(.5);
    const double x = (back ? 1 - sweep.share : sweep.share) * 1.6 - .3;
    const double y = sweep.random.uniform(.35, .7), size = sweep.random.uniform(.2, .35);
    cv::Mat mask = cv::Mat::zeros(image.size(), CV_8U);
    softEllipse(mask, {x * image.cols, y * image.rows}, {size * image.cols, .7 * size * image.cols}, 0, 255,
                .04 * image.cols);
    scale(mask, 2.2F, {}, image);
    blend(mask / 10, {255, 255, 255}, image);
}

void paintShadows(double seconds, uint64_t seed, const cv::Mat& labels, cv::Mat& image) {
    Passage cloud = passageAt(seconds, 17, 12, mixSeed(seed, 1));
    if (cloud.share >= 0) {
        cv::Mat mask = cv::Mat::zeros(image.size(), CV_8U);
        softEllipse(mask, {(cloud.share * 2.4 - .7) * image.cols, cloud.random.uniform(.4, .8) * image.rows},
                    {.9 * image.cols, .6 * image.rows}, 0, 255, .08 * image.cols);
        scale(mask, .6F, {}, image);
    }
    for (uint64_t i = 0; i < 2; ++i) {  // shadows of two people who pass outside the frame
        Passage one = passageAt(seconds, 6, 3, mixSeed(seed, 2 + i));
        if (one.share < 0) continue;
        cv::Mat mask = cv::Mat::zeros(image.size(), CV_8U);
        const double x = (one.random.chance(.5) ? 1 - one.share : one.share) * 1.2 - .1;
        softEllipse(mask, {x * image.cols, one.random.uniform(.65, .95) * image.rows},
                    {one.random.uniform(.1, .2) * image.cols, .05 * image.rows}, 15, 255, 2);
        scale(mask, .45F, labels, image);
    }
}

void paintInsects(double seconds, uint64_t seed, cv::Mat& image) {
    for (uint64_t i = 0; i < 5; ++i) {
        Passage fly = passageAt(seconds, 3, 1.2, mixSeed(seed, i));
        if (fly.share < 0) continue;
        const double angle = fly.random.uniform(0, 6.2832), way = fly.random.uniform(.3, 1) * image.cols;
        const double along = fly.share - .5, bend = .06 * image.cols * std::sin(fly.share * 12);
        const cv::Point2d start(fly.random.uniform(.2, .8) * image.cols,
                                fly.random.uniform(.2, .8) * image.rows);
        const cv::Point2d middle =
            start + cv::Point2d(std::cos(angle) * along * way - std::sin(angle) * bend,
                                std::sin(angle) * along * way + std::cos(angle) * bend);
        const double size = fly.random.uniform(.015, .06) * image.cols;
        cv::Mat mask = cv::Mat::zeros(image.size(), CV_8U);
        softEllipse(mask, middle, {size, size * fly.random.uniform(.4, .9)}, fly.random.uniform(0, 180), 230,
                    size / 6);
        blend(mask, {235, 240, 240}, image);
    }
}

}  // namespace

void paintScript(Script script, double seconds, uint64_t seed, StreetFrame& frame) {
    if (script == Script::Rain) paintRain(seconds, seed, frame.image);
    if (script == Script::Headlights) paintHeadlights(seconds, seed, frame.image);
    if (script == Script::Shadows) paintShadows(seconds, seed, frame.labels, frame.image);
    if (script == Script::Insects) paintInsects(seconds, seed, frame.image);
}

}  // namespace mpm::street
