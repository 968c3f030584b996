#include "pipeline/draw/panels.hpp"

#include <cmath>

#include <opencv2/imgproc.hpp>

#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kGap = 12, kTitle = 34, kFooter = 32;

}  // namespace

cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer) {
    CV_Check(panels.size(), !panels.empty(), "panels: expected at least one");
    const int height = panels.front().picture.rows;
    std::vector<cv::Mat> scaled;
    int width = kGap;
    for (const Panel& panel : panels) {
        CV_CheckTypeEQ(panel.picture.type(), CV_8UC3, "picture: expected 8-bit BGR");
        const int own =
            std::max(1, int(std::lround(double(panel.picture.cols) * height / panel.picture.rows)));
        cv::Mat picture = panel.picture;
        if (picture.rows != height) cv::resize(panel.picture, picture, {own, height}, 0, 0, cv::INTER_AREA);
        scaled.push_back(picture);
        width += picture.cols + kGap;
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
