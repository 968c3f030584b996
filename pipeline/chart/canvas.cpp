#include "pipeline/chart/canvas.hpp"

#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/number.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kShift = 4;          ///< fractional bits of OpenCV's fixed-point coordinates
constexpr double kCapital = 0.72;  ///< height of a capital letter, relative to the font size
constexpr double kUsual = 11.5;    ///< font size of most texts; the root element of the SVG sets it

std::string colourText(const cv::Vec3b& rgb) {
    return cv::format("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

std::string escaped(const std::string& text) {
    std::string result;
    for (char c : text)
        result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return result;
}

cv::Scalar bgrOf(const Ink& ink) {
    return {double(ink.colour[2]), double(ink.colour[1]), double(ink.colour[0])};
}

/// Returns the dashes of a line.
std::vector<std::vector<cv::Point2d>> dashes(const std::vector<cv::Point2d>& points) {
    constexpr double kOn = 5, kOff = 4;
    std::vector<std::vector<cv::Point2d>> pieces;
    double at = 0;
    for (size_t i = 1; i < points.size(); ++i) {
        const cv::Point2d step = points[i] - points[i - 1];
        const double length = cv::norm(step);
        for (double from = 0; from < length;) {
            const double phase = std::fmod(at, kOn + kOff);
            const double to =
                std::min(length, from + (phase < kOn ? kOn - phase : kOn + kOff - phase) + 1e-9);
            if (phase < kOn)
                pieces.push_back(
                    {points[i - 1] + step * (from / length), points[i - 1] + step * (to / length)});
            at += to - from;
            from = to;
        }
    }
    return pieces;
}

std::string attribute(const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + value + "\"";
}

std::string tenths(double value) {
    const std::string text = fixedText(value, 1);
    const size_t end = text.size() - 2;
    return text.compare(end, 2, ".0") == 0 ? text.substr(0, end) : text;
}

std::string place(const char* x, const char* y, cv::Point2d at) {
    return attribute(x, tenths(at.x)) + attribute(y, tenths(at.y));
}

}  // namespace

double textWidth(const std::string& text, double size) {
    return textWidth(text, TextStyle{size * kCapital, {}, 1});
}

SvgCanvas::SvgCanvas(cv::Size size)
    : m_text(cv::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" fill=\"none\" "
          "font-size=\"%s\" stroke-linejoin=\"round\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          size.width, size.height, size.width, size.height, numberText(kUsual).c_str())) {}

void SvgCanvas::line(const std::vector<cv::Point2d>& points, const Ink& ink) {
    std::string places;
    for (const cv::Point2d& point : points)
        places += (places.empty() ? "" : " ") + tenths(point.x) + "," + tenths(point.y);
    m_text += "<polyline" + attribute("stroke", colourText(ink.colour)) +
              (ink.width == 1 ? "" : attribute("stroke-width", numberText(ink.width))) +
              (ink.dashed ? attribute("stroke-dasharray", "5 4") : "") + attribute("points", places) + "/>\n";
}

void SvgCanvas::box(const cv::Rect2d& area, const Ink& ink) {
    m_text += "<rect" + place("x", "y", area.tl()) + attribute("width", tenths(area.width)) +
              attribute("height", tenths(area.height)) + attribute("fill", colourText(ink.colour)) +
              (ink.opacity == 1 ? "" : attribute("fill-opacity", numberText(ink.opacity))) + "/>\n";
}

void SvgCanvas::disc(cv::Point2d middle, double radius, const Ink& ink, bool ring) {
    const std::string colour = colourText(ink.colour);
    m_text += "<circle" + place("cx", "cy", middle) + attribute("r", numberText(radius));
    m_text += ring ? attribute("fill", "none") + attribute("stroke", colour) +
                         attribute("stroke-width", numberText(ink.width))
                   : attribute("fill", colour) + attribute("stroke", "#fff");
    m_text += "/>\n";
}

void SvgCanvas::text(const std::string& text, cv::Point2d at, double size, const Ink& ink, Anchor anchor,
                     bool bold) {
    const char* anchors[] = {"start", "middle", "end"};
    m_text += "<text" + place("x", "y", at) +
              (size == kUsual ? "" : attribute("font-size", numberText(size))) +
              attribute("fill", colourText(ink.colour)) +
              (anchor == Anchor::Start ? "" : attribute("text-anchor", anchors[static_cast<int>(anchor)])) +
              (bold ? attribute("font-weight", "bold") : "") + ">" + escaped(text) + "</text>\n";
}

PixelCanvas::PixelCanvas(cv::Size size, double scale)
    : m_image(cvRound(size.height * scale), cvRound(size.width * scale), CV_8UC3, cv::Scalar::all(255)),
      m_scale(scale) {}

cv::Point PixelCanvas::fixed(cv::Point2d point) const {
    const double factor = m_scale * (1 << kShift);
    return {cvRound(point.x * factor), cvRound(point.y * factor)};
}

void PixelCanvas::line(const std::vector<cv::Point2d>& points, const Ink& ink) {
    const int width = std::max(1, cvRound(ink.width * m_scale));
    const auto pieces = ink.dashed ? dashes(points) : std::vector<std::vector<cv::Point2d>>{points};
    for (const auto& piece : pieces)
        for (size_t i = 1; i < piece.size(); ++i)
            cv::line(m_image, fixed(piece[i - 1]), fixed(piece[i]), bgrOf(ink), width, cv::LINE_AA, kShift);
}

void PixelCanvas::box(const cv::Rect2d& area, const Ink& ink) {
    const cv::Rect pixels(cv::Point(cvRound(area.x * m_scale), cvRound(area.y * m_scale)),
                          cv::Point(cvRound(area.br().x * m_scale), cvRound(area.br().y * m_scale)));
    cv::Mat part = m_image(pixels & cv::Rect({0, 0}, m_image.size()));
    cv::addWeighted(part, 1 - ink.opacity, cv::Mat(part.size(), part.type(), bgrOf(ink)), ink.opacity, 0,
                    part);
}

void PixelCanvas::disc(cv::Point2d middle, double radius, const Ink& ink, bool ring) {
    const int fixedRadius = cvRound(radius * m_scale * (1 << kShift));
    if (!ring) {
        const int rim = fixedRadius + cvRound(0.5 * m_scale * (1 << kShift));
        cv::circle(m_image, fixed(middle), rim, cv::Scalar::all(255), cv::FILLED, cv::LINE_AA, kShift);
    }
    cv::circle(m_image, fixed(middle), fixedRadius, bgrOf(ink),
               ring ? std::max(1, cvRound(ink.width * m_scale)) : cv::FILLED, cv::LINE_AA, kShift);
}

void PixelCanvas::text(const std::string& text, cv::Point2d at, double size, const Ink& ink, Anchor anchor,
                       bool bold) {
    const TextStyle style{size * kCapital * m_scale, bgrOf(ink), bold ? 1.6 : 1.0};
    const double share = anchor == Anchor::Start ? 0 : anchor == Anchor::Middle ? 0.5 : 1;
    drawText(m_image, text,
             {cvRound(at.x * m_scale - share * textWidth(text, style)), cvRound(at.y * m_scale)}, style);
}

}  // namespace mpm::pipeline
