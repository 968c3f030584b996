#include "gui/engine/analysis.hpp"

#include <opencv2/imgproc.hpp>

#include "pipeline/draw/merge_map.hpp"

namespace mpm::gui {

Conditions conditionsOf(const Analysis& analysis) {
    const ReuseState reuse = analysis.merged.tokens.reuse.state;
    return {analysis.frame.stream, analysis.frame.generation, analysis.model, analysis.schedule,
            reuse != ReuseState::Off && reuse != ReuseState::Suspended};
}

double NightPair::fewerMerged() const {
    const double byDay = analysis->tokensIn() - analysis->tokensKept();
    const double byNight = static_cast<double>(night.tokens.map.total()) - tokensKept();
    return byDay > 0 ? 100 * (byDay - byNight) / byDay : 0;
}

int tokensKept(const mpm::ImageReport& report) {
    return report.stages.empty() ? static_cast<int>(report.map.total()) : report.stages.back().tokens;
}

cv::Mat mapAfter(const mpm::ImageReport& report, int stage) {
    if (stage == kUnmerged) return pipeline::identityMap(static_cast<int>(report.map.total()));
    const int stages = static_cast<int>(report.stages.size());
    if (stage < 0 || stage >= stages) return report.map;
    cv::Mat map = report.stages.front().map;
    for (int s = 1; s <= stage; ++s)
        map = mpm::composeMaps(map, report.stages[s].map);
    return map;
}

QImage toImage(const cv::Mat& pixels) {
    if (pixels.empty()) return {};
    CV_CheckTypeEQ(pixels.type(), CV_8UC3, "pixels: expected 8-bit BGR");
    QImage image(pixels.cols, pixels.rows, QImage::Format_RGB32);
    cv::Mat target(pixels.rows, pixels.cols, CV_8UC4, image.bits(), image.bytesPerLine());
    cv::cvtColor(pixels, target, cv::COLOR_BGR2BGRA);
    return image;
}

}  // namespace mpm::gui
