// Draws label maps in the colours of classes, alone or over their image.
#pragma once

#include <string>
#include <vector>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct OverlayStyle {
    double opacity = 0.55;     ///< of the colours: 0 the image alone, 1 the colours alone
    bool outlines = true;      ///< lines between classes, since colours may be similar
    bool confidence = false;   ///< colours of uncertain labels fade
    std::vector<bool> hidden;  ///< classes not shown, by id; may be shorter than the list of classes
};

/// Returns CV_8UC3, BGR. labels: CV_8U or CV_16U ids; ids past the palette are black.
cv::Mat colourLabels(const cv::Mat& labels, const Palette& palette);

/// image: CV_8UC3. labels and scores have the size of the image; scores: CV_32F, 0..1, or empty.
cv::Mat drawOverlay(const cv::Mat& image, const cv::Mat& labels, const Palette& palette,
                    const OverlayStyle& style = {}, const cv::Mat& scores = {});

/// Covers masked pixels in place: black with a pattern of lines, which resembles no class. seen: CV_8U of the
/// image's size, 0 for a masked pixel; empty if no pixel is masked.
void drawMasked(cv::Mat& image, const cv::Mat& seen);

/// Returns the share of the image that each class covers, 0 to 1, for ids below `classes`. seen: CV_8U of the
/// same size, 0 for a pixel that does not count; empty if all count. Returns no shares if no pixel counts.
std::vector<double> classShares(const cv::Mat& labels, int classes, const cv::Mat& seen = {});

}  // namespace mpm::pipeline
