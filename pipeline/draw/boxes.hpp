// Objects of a detector, drawn over their image.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct DrawnBox {
    cv::Rect2f box;    ///< in pixels of the image
    std::string text;  ///< such as "person 0.93"
    cv::Vec3b colour;  ///< RGB
    cv::Mat mask;      ///< CV_8U of the box's rounded size, 1 inside the object; may be empty
};

/// Draws each box, its text on a rectangle of the same colour, and each mask as a tint. Draws the first box
/// on top of the others, so the caller should pass boxes in the order of decreasing scores.
cv::Mat drawBoxes(const cv::Mat& image, const std::vector<DrawnBox>& boxes, double opacity = 0.55);

/// Returns the name of a class ("cat"), or text such as "class 17" if the class has no name.
std::string className(const std::vector<std::string>& names, int label);

/// Converts detections to boxes, with name and score as text, the colour of the class, and the mask.
std::vector<DrawnBox> drawnBoxes(const std::vector<Detection>& objects, const std::vector<std::string>& names,
                                 const Palette& palette);

/// Returns the palette's colour of a class. If the palette has no such colour, returns a colour of
/// defaultPalette().
cv::Vec3b classColour(const Palette& palette, int label);

}  // namespace mpm::pipeline
