// Draws label maps in the colours of classes, alone or over an image.
#pragma once

#include <string>
#include <vector>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct OverlayStyle {
    double opacity = 0.55;     ///< of the colours: 0 shows only the image, 1 only the colours
    bool outlines = true;      ///< whether to draw lines between classes, whose colours may be similar
    bool confidence = false;   ///< whether colours of uncertain labels fade
    std::vector<bool> hidden;  ///< whether a class is hidden, by id; may be shorter than the list of classes
};

/// Returns the labels' colours: CV_8UC3, BGR. `labels`: CV_8U or CV_16U; ids beyond the palette are black.
cv::Mat colourLabels(const cv::Mat& labels, const Palette& palette);

/// Draws labels over `image` (CV_8UC3). All sizes must be equal. `scores`: CV_32F, 0..1, or empty.
cv::Mat drawOverlay(const cv::Mat& image, const cv::Mat& labels, const Palette& palette,
                    const OverlayStyle& style = {}, const cv::Mat& scores = {});

/// Covers masked pixels of `image` with grey lines on black, a pattern that no class has.
/// `seen`: CV_8U of the image's size, 0 for a masked pixel; empty if no pixel is masked.
void drawMasked(cv::Mat& image, const cv::Mat& seen);

/// Returns the share of the image that each class covers, 0 to 1, for ids below `classes`. `seen`: CV_8U of
/// the same size, 0 for a pixel to ignore; empty to ignore none. Returns no shares if all pixels are ignored.
std::vector<double> classShares(const cv::Mat& labels, int classes, const cv::Mat& seen = {});

}  // namespace mpm::pipeline
