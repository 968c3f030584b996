// Draws a detector's objects over their image.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct DrawnBox {
    cv::Rect2f box;    ///< in pixels of the image
    std::string text;  ///< "person 0.93"
    cv::Vec3b colour;  ///< RGB
    cv::Mat mask;      ///< CV_8U of the box's rounded size, 1 inside; may be empty
};

/// Draws boxes with their text on a plate of the same colour, and masks as a tint. The first box is on top:
/// sort the best first.
cv::Mat drawBoxes(const cv::Mat& image, const std::vector<DrawnBox>& boxes, double opacity = 0.55);

/// "cat", or "class 17" if there is no such name.
std::string className(const std::vector<std::string>& names, int label);

/// Boxes with name and score as text, the colour of the class, and the mask.
std::vector<DrawnBox> drawnBoxes(const std::vector<Detection>& objects, const std::vector<std::string>& names,
                                 const Palette& palette);

/// Returns the palette's colour of a class, else a fixed colour that differs from its neighbours.
cv::Vec3b classColour(const Palette& palette, int label);

}  // namespace mpm::pipeline
