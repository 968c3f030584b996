// Several images of one frame beside one another, each with its title.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct Panel {
    std::string title;
    cv::Mat image;  ///< CV_8UC3
};

/// Scaled to the height of the first, on white, titles above; `footer` below, where not empty.
cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer = {});

}  // namespace mpm::pipeline
