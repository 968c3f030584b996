#include "pipeline/draw/text.hpp"

#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

constexpr int kGap = 12, kTitle = 34, kFooter = 32;

}  // namespace

cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer) {
    CV_Check(panels.size(), !panels.empty(), "panels: expected at least one");
    const int height = panels.front().image.rows;
    std::vector<cv::Mat> scaled;
    int width = kGap;
    for (const Panel& panel : panels) {
        CV_CheckTypeEQ(panel.image.type(), CV_8UC3, "image: expected 8-bit BGR");
        const int own = std::max(1, int(std::lround(double(panel.image.cols) * height / panel.image.rows)));
        cv::Mat image = panel.image;
        if (image.rows != height) cv::resize(panel.image, image, {own, height}, 0, 0, cv::INTER_AREA);
        scaled.push_back(image);
        width += image.cols + kGap;
    }
    const int bottom = footer.empty() ? kGap : kFooter;
    cv::Mat sheet(kTitle + height + bottom, width, CV_8UC3, cv::Scalar(255, 255, 255));
    TextStyle title{12, {45, 40, 38}, 1.5}, plain{11, {90, 85, 80}, 1};
    int x = kGap;
    for (size_t i = 0; i < panels.size(); ++i) {
        scaled[i].copyTo(sheet(cv::Rect({x, kTitle}, scaled[i].size())));
        drawText(sheet, panels[i].title, {x, 23}, title);
        x += scaled[i].cols + kGap;
    }
    drawText(sheet, footer, {kGap, sheet.rows - 11}, plain);
    return sheet;
}

}  // namespace mpm::pipeline
