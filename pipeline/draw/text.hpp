// Text on images, in the system's sans-serif font.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct TextStyle {
    double height = 11;             ///< of a capital, in pixels
    cv::Scalar colour{34, 34, 34};  ///< BGR
    double weight = 1;              ///< 1 regular, 1.6 bold
};

/// Width of a line of UTF-8, in pixels.
double textWidth(const std::string& text, const TextStyle& style);

/// Width and height (of a capital) `text` takes.
cv::Size textSize(const std::string& text, const TextStyle& style);

/// `at`: left end of the base line. Parts outside the image are cut off.
void drawText(cv::Mat& image, const std::string& text, cv::Point at, const TextStyle& style);

/// Text on a dark, see-through plate in the top left corner, below `line` others; readable on any image.
void drawCaption(cv::Mat& image, const std::string& text, int line = 0);

struct Panel {
    std::string title;
    cv::Mat image;  ///< CV_8UC3
};

/// Scaled to the height of the first, on white, titles above; `footer` below, if not empty.
cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer = {});

}  // namespace mpm::pipeline
