// Surfaces on which a figure is drawn: SVG or pixels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class Anchor { Start, Middle, End };

/// The look of lines, areas and text. Lengths are in pixels before scaling. Colours are RGB.
struct Ink {
    cv::Vec3b colour{0, 0, 0};
    double width = 1;  ///< of the stroke
    bool dashed = false;
    double opacity = 1;  ///< of fills
};

class Canvas {
public:
    virtual ~Canvas() = default;
    virtual void line(const std::vector<cv::Point2d>& points, const Ink& ink) = 0;
    virtual void box(const cv::Rect2d& area, const Ink& ink) = 0;  ///< filled
    virtual void disc(cv::Point2d middle, double radius, const Ink& ink, bool ring) = 0;
    /// `at`: a point of the text's base line. `anchor`: whether `at` is the start, middle or end of the text.
    virtual void text(const std::string& text, cv::Point2d at, double size, const Ink& ink, Anchor anchor,
                      bool bold) = 0;
};

class SvgCanvas : public Canvas {
public:
    explicit SvgCanvas(cv::Size size);
    void line(const std::vector<cv::Point2d>& points, const Ink& ink) override;
    void box(const cv::Rect2d& area, const Ink& ink) override;
    void disc(cv::Point2d middle, double radius, const Ink& ink, bool ring) override;
    void text(const std::string& text, cv::Point2d at, double size, const Ink& ink, Anchor anchor,
              bool bold) override;
    std::string finish() { return m_text + "</svg>\n"; }

private:
    std::string m_text;
};

class PixelCanvas : public Canvas {
public:
    PixelCanvas(cv::Size size, double scale);
    void line(const std::vector<cv::Point2d>& points, const Ink& ink) override;
    void box(const cv::Rect2d& area, const Ink& ink) override;
    void disc(cv::Point2d middle, double radius, const Ink& ink, bool ring) override;
    void text(const std::string& text, cv::Point2d at, double size, const Ink& ink, Anchor anchor,
              bool bold) override;
    const cv::Mat& image() const { return m_image; }

private:
    cv::Point fixed(cv::Point2d point) const;
    cv::Mat m_image;
    double m_scale;
};

/// Returns the approximate width of `text`. `size`: the font size.
double textWidth(const std::string& text, double size);

}  // namespace mpm::pipeline
