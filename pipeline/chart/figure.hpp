// Figures for reports: points, lines and bars on light ground, the same as SVG and as pixels.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct PlotPoint {
    double x = 0, y = 0;
    double xError = 0, yError = 0;  ///< standard errors; drawn if they can be seen
    std::string label = {};         ///< beside the point, if there is room
};

struct PlotSeries {
    std::string name;      ///< series of the same name share a colour across panels
    std::string colourOf;  ///< the name whose colour the series has instead; empty: that of `name`
    std::vector<PlotPoint> points;
    bool line = true, markers = true, dashed = false;
    double radius = 4;  ///< of the markers
    bool ring = false;  ///< hollow, to surround others
};

struct PlotPanel {
    std::string title, xLabel, yLabel;
    std::vector<PlotSeries> series = {};
    std::vector<std::string> categories = {};  ///< not empty: bars, a point's x is the number of the category
    bool fromZero = false;                     ///< the vertical axis starts at 0
    double xFrom = 0, xTo = 0;  ///< if they differ: the horizontal axis; else as the points need
};

struct Figure {
    std::string title;
    std::vector<PlotPanel> panels;  ///< side by side
    cv::Size panel{460, 330};
    /// Names in the order of their colours. Figures of a report share the list, so that a name keeps the
    /// colour; other names are appended.
    std::vector<std::string> colours = {};
    std::string origin = {};  ///< below the plots: model, data and date
};

/// "street.onnx · camera · 2026-01-31": the parts that are not empty, shortened, and the local date.
std::string originText(const std::vector<std::string>& parts);

std::string toSvg(const Figure& figure);
cv::Mat toImage(const Figure& figure);  ///< CV_8UC3, twice the size for sharp screens

}  // namespace mpm::pipeline
