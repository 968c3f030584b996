// Draws text on images, in the system's sans-serif font, or in OpenCV's font if there is none.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct TextStyle {
    double height = 11;             ///< of a capital letter, in pixels
    cv::Scalar colour{34, 34, 34};  ///< BGR
    double weight = 1;              ///< 1 regular, 1.6 bold
};

/// Returns the width of a line of UTF-8 text, in pixels.
double textWidth(const std::string& text, const TextStyle& style);

/// Returns the width of `text` and the height of a capital letter, in pixels.
cv::Size textSize(const std::string& text, const TextStyle& style);

/// Draws text whose base line begins at `at`. Parts outside the image are cut off.
void drawText(cv::Mat& image, const std::string& text, cv::Point at, const TextStyle& style);

/// Draws text on a dark, translucent rectangle at the top left. `line`: number of captions above this text.
void drawCaption(cv::Mat& image, const std::string& text, int line = 0);

struct Panel {
    std::string title;
    cv::Mat image;  ///< CV_8UC3
};

/// Draws panels side by side on white, scaled to the height of the first panel. Writes titles above the
/// panels, and `footer` below.
cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer = {});

}  // namespace mpm::pipeline
