#include "pipeline/draw/palette.hpp"

#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

/// Okabe and Ito's eight, with a grey that is visible on a night image instead of the darkest.
const Palette kFirst = {{0, 114, 178},  {230, 159, 0},  {0, 158, 115},   {213, 94, 0},
                        {86, 180, 233}, {240, 228, 66}, {204, 121, 167}, {150, 150, 150}};

/// Hues in steps of the golden angle stay distinct for many colours; three lightnesses separate the others.
cv::Vec3b spread(int index) {
    constexpr double kGolden = 0.61803398875;
    const double hue = std::fmod(0.07 + index * kGolden, 1.0) * 360;
    const float lightness[] = {0.50f, 0.68f, 0.36f};
    const cv::Mat hls(1, 1, CV_32FC3, cv::Scalar(hue, lightness[index % 3], 0.65));
    cv::Mat rgb;
    cv::cvtColor(hls, rgb, cv::COLOR_HLS2RGB);
    const cv::Vec3f value = rgb.at<cv::Vec3f>(0) * 255.f;
    return {cv::saturate_cast<uchar>(value[0]), cv::saturate_cast<uchar>(value[1]),
            cv::saturate_cast<uchar>(value[2])};
}

}  // namespace

Palette defaultPalette(int count) {
    Palette colours;
    for (int i = 0; i < count; ++i)
        colours.push_back(i < static_cast<int>(kFirst.size()) ? kFirst[i] : spread(i - 8));
    return colours;
}

Palette completePalette(const Palette& given, int count) {
    Palette colours = defaultPalette(std::max(count, static_cast<int>(given.size())));
    std::copy(given.begin(), given.end(), colours.begin());
    return colours;
}

}  // namespace mpm::pipeline
