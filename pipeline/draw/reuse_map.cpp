#include "pipeline/draw/merge_map.hpp"

#include <opencv2/imgproc.hpp>

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    CV_CheckTypeEQ(reasons.type(), CV_8U, "reasons: expected CV_8U, one row");
    CV_CheckEQ(static_cast<int>(reasons.total()), grid.area(),
               "reasons: expected one entry for each patch of the grid");
    cv::Mat grey, drawn;
    cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
    cv::cvtColor(grey, drawn, cv::COLOR_GRAY2BGR);
    for (int y = 0; y < grid.height; ++y)
        for (int x = 0; x < grid.width; ++x) {
            const auto reason = static_cast<ReuseReason>(reasons.at<uchar>(y * grid.width + x));
            if (reason == ReuseReason::Kept) continue;
            const cv::Scalar colour = reason == ReuseReason::Changed     ? cv::Scalar(30, 140, 255)
                                      : reason == ReuseReason::Refreshed ? cv::Scalar(230, 150, 40)
                                                                         : cv::Scalar(200, 60, 200);
            const cv::Rect cell = cellRect(x, y, grid, image.size());
            if (cell.empty()) continue;
            cv::Mat target = drawn(cell);
            target = target * 0.5 + colour * 0.5;
        }
    return drawn;
}

}  // namespace mpm::pipeline
