// Figures for reports: points, lines and bars on a light background, as SVG or as pixels.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct PlotPoint {
    double x = 0, y = 0;
    double xError = 0, yError = 0;  ///< standard errors; drawn if they are large enough to see
    std::string label = {};         ///< text next to the point, if there is room
};

struct PlotSeries {
    std::string name;      ///< series of the same name have the same colour in all panels
    std::string colourOf;  ///< the name that determines the colour; empty: `name`
    std::vector<PlotPoint> points;
    bool line = true, markers = true, dashed = false;
    double radius = 4;  ///< of the markers
    bool ring = false;  ///< whether markers are hollow, to surround other markers
};

struct PlotPanel {
    std::string title, xLabel, yLabel;
    std::vector<PlotSeries> series = {};
    std::vector<std::string> categories = {};  ///< if not empty, the panel has bars; x: index of a category
    bool fromZero = false;                     ///< whether y starts at 0; with bars, y always includes 0
    double xFrom = 0, xTo = 0;  ///< range of the horizontal axis; if equal: the range of the points
};

struct Figure {
    std::string title;
    std::vector<PlotPanel> panels;  ///< side by side
    cv::Size panel{460, 330};
    /// Names in the order of their colours. All figures of a report have the same list, so that a name has
    /// the same colour in all figures. Names that are not in the list get the next colours.
    std::vector<std::string> colours = {};
    std::string origin = {};  ///< text below the plots: model, data and date
};

/// Returns the nonempty parts, each shortened, and today's local date: "street.onnx · camera · 2026-01-31".
std::string originText(const std::vector<std::string>& parts);

std::string toSvg(const Figure& figure);
cv::Mat toImage(const Figure& figure);  ///< CV_8UC3 of twice the figure's size, for sharp screens

}  // namespace mpm::pipeline
