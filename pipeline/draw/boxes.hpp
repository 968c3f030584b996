// Objects of a detector, drawn over their image.
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
    cv::Mat mask;      ///< CV_8U of the box's rounded size, 1 inside the object; may be empty
};

/// Draws each box with its text on a plate of the same colour, and each mask as a tint. Draws the first box
/// on top of the others, so the caller should sort boxes by falling score.
cv::Mat drawBoxes(const cv::Mat& image, const std::vector<DrawnBox>& boxes, double opacity = 0.55);

/// Returns the name of a class ("cat"), or "class 17" if it has none.
std::string className(const std::vector<std::string>& names, int label);

/// Returns boxes with name and score as text, the colour of the class, and the mask.
std::vector<DrawnBox> drawnBoxes(const std::vector<Detection>& objects, const std::vector<std::string>& names,
                                 const Palette& palette);

/// Returns the palette's colour of a class, or a fixed colour that differs from the colours of neighbouring
/// ids.
cv::Vec3b classColour(const Palette& palette, int label);

}  // namespace mpm::pipeline
