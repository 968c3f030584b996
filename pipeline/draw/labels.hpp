// Label maps as images: colours by class, laid over the image they describe.
#pragma once

#include <string>
#include <vector>

#include "pipeline/draw/palette.hpp"

namespace mpm::pipeline {

struct OverlayStyle {
    double opacity = 0.55;     ///< of the colours: 0 the image alone, 1 the colours alone
    bool outlines = true;      ///< a line between classes, whose colours may be alike
    bool confidence = false;   ///< colours of uncertain labels fade
    std::vector<bool> hidden;  ///< classes not to be shown, by id; may be shorter than the classes
};

/// labels: CV_8U or CV_16U ids. Ids past the palette are black. -> CV_8UC3, BGR.
cv::Mat colourLabels(const cv::Mat& labels, const Palette& palette);

/// image: CV_8UC3; labels of the same size, and so are scores: CV_32F, 0..1, or empty.
cv::Mat drawOverlay(const cv::Mat& image, const cv::Mat& labels, const Palette& palette,
                    const OverlayStyle& style = {}, const cv::Mat& scores = {});

/// Hides pixels, in place: black with a pattern of lines, so that they belong to no class. seen: CV_8U of the
/// image's size, 0 for a masked pixel; empty: none is masked.
void drawMasked(cv::Mat& image, const cv::Mat& seen);

/// Share of the image each class covers, 0 to 1; ids from `classes` on are left out. seen: CV_8U of the
/// same size, 0 for a pixel that does not count; empty: all count. If none counts, there are no shares.
std::vector<double> classShares(const cv::Mat& labels, int classes, const cv::Mat& seen = {});

}  // namespace mpm::pipeline
