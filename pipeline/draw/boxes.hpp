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
    cv::Mat mask;      ///< CV_8U of the box's rounded size, 1 inside; may be empty
};

/// Boxes with their text on a plate of their colour, masks as a tint. The first box is on top: give the best
/// first.
cv::Mat drawBoxes(const cv::Mat& image, const std::vector<DrawnBox>& boxes, double opacity = 0.55);

/// "cat", or "class 17" if there is no such name.
std::string className(const std::vector<std::string>& names, int label);

/// Name and score, the colour of the class, the mask.
std::vector<DrawnBox> drawnBoxes(const std::vector<Detection>& objects, const std::vector<std::string>& names,
                                 const Palette& palette);

/// The colour of a class: the palette's, or a fixed one that differs from its neighbours'.
cv::Vec3b classColour(const Palette& palette, int label);

}  // namespace mpm::pipeline
