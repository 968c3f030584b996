#include "pipeline/chart/timeline.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/number.hpp"
#include "pipeline/chart/axis.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {

namespace {

const cv::Scalar kPaper(255, 255, 255), kInk(45, 40, 38), kFaintInk(130, 125, 120), kGridInk(228, 226, 224);
const cv::Scalar kDay(214, 240, 253), kNight(236, 218, 210), kLight(40, 150, 235);
const std::vector<cv::Scalar> kCurves = {{191, 164, 120}, {170, 107, 43}, {96, 48, 12}, {60, 20, 90}};

const TextStyle kFaintText{11, kFaintInk, 1};

/// A plot: a rectangle of the image with axes.
struct Plot {
    Plot(const cv::Rect& rectangle, double left, double right, double bottom, double top)
        : area(rectangle),
          x(left, right, rectangle.x, rectangle.br().x),
          y(bottom, top, rectangle.br().y, rectangle.y) {}

    /// Returns a point in units of 1/16 pixel, as OpenCV's drawing functions need for `shift` = 4.
    cv::Point fine(const cv::Point2d& value) const {
        return {int(std::lround(16 * x.pixel(value.x))), int(std::lround(16 * y.pixel(value.y)))};
    }

    cv::Rect area;
    Axis x, y;
};

void drawBands(cv::Mat& image, const Plot& plot, const std::vector<TimelinePoint>& points) {
    cv::rectangle(image, plot.area, kDay, cv::FILLED);
    for (size_t i = 0; i < points.size(); ++i) {
        if (!points[i].night) continue;
        const double from = i == 0 ? plot.x.from() : (points[i - 1].time + points[i].time) / 2;
        const double to = i + 1 == points.size() ? plot.x.to() : (points[i].time + points[i + 1].time) / 2;
        const int x0 = int(std::lround(plot.x.pixel(from))), x1 = int(std::lround(plot.x.pixel(to)));
        const cv::Rect band(x0, plot.area.y, x1 - x0, plot.area.height);
        cv::rectangle(image, band & plot.area, kNight, cv::FILLED);
    }
}

void drawValueGrid(cv::Mat& image, const Plot& plot, double step, const TextStyle& style) {
    for (const double value : ticksBetween(plot.y.from(), plot.y.to(), step)) {
        const int y = int(std::lround(plot.y.pixel(value)));
        cv::line(image, {plot.area.x, y}, {plot.area.br().x, y}, kGridInk, 1);
        const std::string text = tickText(value, step);
        drawText(image, text, {plot.area.x - 8 - textSize(text, style).width, y + int(style.height / 2)},
                 style);
    }
}

void drawTimeGrid(cv::Mat& image, const Plot& plot, const std::string& unit, bool names) {
    const bool hours = unit == "h";
    const double range = plot.x.to() - plot.x.from();
    const double step = hours ? hourStep(range) : roundStep(range, 10);
    for (const double value : ticksBetween(plot.x.from(), plot.x.to(), step)) {
        const int x = int(std::lround(plot.x.pixel(value)));
        cv::line(image, {x, plot.area.y}, {x, plot.area.br().y}, kGridInk, 1);
        if (!names) continue;
        const std::string text = hours ? hourText(value) : tickText(value, step) + " " + unit;
        const int wide = textSize(text, kFaintText).width, most = image.cols - wide - 2;
        drawText(image, text, {std::min(x - wide / 2, most), plot.area.br().y + 20}, kFaintText);
    }
}

void drawCurve(cv::Mat& image, const Plot& plot, const std::vector<cv::Point2d>& values,
               const cv::Scalar& colour, int width) {
    std::vector<cv::Point> line;
    for (const cv::Point2d& value : values)
        line.push_back(plot.fine(value));
    if (line.size() == 1) cv::circle(image, line[0], 3 * 16, colour, cv::FILLED, cv::LINE_AA, 4);
    cv::polylines(image, line, false, colour, width, cv::LINE_AA, 4);
}

std::vector<cv::Point2d> curve(const std::vector<TimelinePoint>& points, size_t stage) {
    std::vector<cv::Point2d> values;
    for (const TimelinePoint& point : points)
        if (stage < point.tokens.size()) values.emplace_back(point.time, point.tokens[stage]);
    return values;
}

/// The key above the plot, drawn from right to left. To the left of each name is a line or rectangle in the
/// colour of the curve or band.
class Key {
public:
    Key(cv::Mat& image, cv::Point rightEnd) : m_image(image), m_at(rightEnd) {}

    void add(const std::string& name, const cv::Scalar& colour, bool patch) {
        m_at.x -= textSize(name, m_style).width;
        drawText(m_image, name, m_at, m_style);
        m_at.x -= 28;
        const int middle = m_at.y - int(m_style.height / 2);
        const cv::Rect swatch(m_at.x, middle - 6, 20, 12);
        if (patch) {
            cv::rectangle(m_image, swatch, colour, cv::FILLED);
            cv::rectangle(m_image, swatch, kFaintInk, 1);
        } else {
            cv::line(m_image, {m_at.x, middle}, {m_at.x + 20, middle}, colour, 3, cv::LINE_AA);
        }
        m_at.x -= 24;
    }

private:
    cv::Mat& m_image;
    cv::Point m_at;
    TextStyle m_style;
};

void drawTokens(cv::Mat& image, const Plot& plot, const std::vector<TimelinePoint>& points,
                const TimelineStyle& style) {
    drawBands(image, plot, points);
    drawValueGrid(image, plot, roundStep(plot.y.to() - plot.y.from(), 6), kFaintText);
    drawTimeGrid(image, plot, style.unit, false);
    Key key(image, {plot.area.br().x, plot.area.y - 14});
    key.add("night", kNight, true);
    key.add("day", kDay, true);
    const size_t stages = points.empty() ? 0 : points.front().tokens.size();
    for (size_t stage = stages; stage-- > 0;) {
        const cv::Scalar colour =
            kCurves[std::min(stage + kCurves.size() - std::min(stages, kCurves.size()), kCurves.size() - 1)];
        drawCurve(image, plot, curve(points, stage), colour, 2);
        key.add(stage < style.stages.size() ? style.stages[stage] : "stage " + std::to_string(stage + 1),
                colour, false);
    }
    cv::rectangle(image, plot.area, kFaintInk, 1);
}

void drawLuminance(cv::Mat& image, const Plot& plot, const std::vector<TimelinePoint>& points,
                   const std::string& unit) {
    drawBands(image, plot, points);
    drawValueGrid(image, plot, 0.5, kFaintText);
    drawTimeGrid(image, plot, unit, true);
    std::vector<cv::Point2d> values;
    for (const TimelinePoint& point : points)
        values.emplace_back(point.time, point.luminance);
    drawCurve(image, plot, values, kLight, 2);
    cv::rectangle(image, plot.area, kFaintInk, 1);
    drawText(image, "luminance", {plot.area.x + 8, plot.area.y + 18}, {11, kInk, 1});
}

std::string summaryText(const DayNightSummary& s, const std::string& counted) {
    const std::string day = "day " + fixedText(s.dayMean, 0) + " ± " + fixedText(s.daySpread, 0);
    const std::string night = "night " + fixedText(s.nightMean, 0) + " ± " + fixedText(s.nightSpread, 0);
    if (s.days == 0 || s.nights == 0) return counted + ": " + (s.days > 0 ? day : night);
    const std::string sign = s.difference() < 0 ? "−" : "+";
    return counted + ": " + day + ", " + night + ", night compared with day " + sign +
           fixedText(std::abs(s.difference()), 1) + " %";
}

/// Returns the range of the token axis. The range begins a little below the least value, because on an
/// axis from zero, curves would look flat.
std::pair<double, double> tokenRange(const std::vector<TimelinePoint>& points, int tokensIn) {
    double low = tokensIn > 0 ? tokensIn : 1, high = tokensIn;
    for (const TimelinePoint& point : points)
        for (int tokens : point.tokens) {
            low = std::min<double>(low, tokens);
            high = std::max<double>(high, tokens);
        }
    const double pad = std::max(4.0, 0.08 * (high - low));
    return {std::max(0.0, low - pad), high + pad};
}

}  // namespace

double DayNightSums::Sums::spread() const {
    return count > 1 ? std::sqrt(std::max(0.0, (squares - sum * mean()) / (count - 1))) : 0;
}

void DayNightSums::add(double tokens, bool night) {
    Sums& sums = night ? m_night : m_day;
    sums.sum += tokens;
    sums.squares += tokens * tokens;
    ++sums.count;
}

DayNightSummary DayNightSums::summary() const {
    return {m_day.mean(), m_day.spread(), m_night.mean(), m_night.spread(), m_day.count, m_night.count};
}

DayNightSummary summarise(const std::vector<TimelinePoint>& points) {
    DayNightSums sums;
    for (const TimelinePoint& point : points)
        if (!point.tokens.empty()) sums.add(point.tokens.back(), point.night);
    return sums.summary();
}

cv::Mat drawTimeline(const std::vector<TimelinePoint>& points, const TimelineStyle& style) {
    cv::Mat image(style.size, CV_8UC3, kPaper);
    TextStyle title{15, kInk, 1.5}, plain{11, kInk, 1};
    drawText(image, style.title, {72, 34}, title);
    const TextStyle faint{9, kFaintInk, 1};
    drawText(image, style.origin, {style.size.width - 28 - textSize(style.origin, faint).width, 34}, faint);
    if (points.empty()) {
        drawText(image, "nothing measured yet", {72, 70}, plain);
        return image;
    }
    drawText(image, summaryText(summarise(points), style.counted), {72, 60}, plain);
    const int width = style.size.width - 72 - 28;
    const int lower = std::max(60, style.size.height / 6);
    const double left = points.front().time, last = points.back().time;
    const double right = last > left ? last : left + 1;  // a range of 1 if all times are equal
    const auto [low, high] = tokenRange(points, style.tokensIn);
    const Plot tokens{{72, 100, width, style.size.height - 100 - 24 - lower - 34}, left, right, low, high};
    const Plot light{{72, tokens.area.br().y + 24, width, lower}, left, right, 0, 1};
    drawTokens(image, tokens, points, style);
    drawLuminance(image, light, points, style.unit);
    return image;
}

}  // namespace mpm::pipeline
