// Several images of a frame side by side, each with a title.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct Panel {
    std::string title;
    cv::Mat image;  ///< CV_8UC3
};

/// Scaled to the height of the first, on white, titles above; `footer` below, if not empty.
cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer = {});

}  // namespace mpm::pipeline
