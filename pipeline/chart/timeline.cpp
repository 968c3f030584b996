#include "pipeline/chart/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <opencv2/imgproc.hpp>

#include "base/number.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {

namespace {

const cv::Scalar kPaper(255, 255, 255), kInk(45, 40, 38), kFaint(130, 125, 120), kGrid(228, 226, 224);
const cv::Scalar kDay(214, 240, 253), kNight(236, 218, 210), kLight(40, 150, 235);
const std::vector<cv::Scalar> kCurves = {{191, 164, 120}, {170, 107, 43}, {96, 48, 12}, {60, 20, 90}};

/// One plot: a rectangle of the picture and the values at its edges.
struct Axes {
    cv::Rect area;
    double left, right, bottom, top;

    /// In 16ths of a pixel, for OpenCV's `shift`.
    cv::Point fine(double x, double y) const {
        return {int(std::lround(16 * px(x))), int(std::lround(16 * py(y)))};
    }
    double px(double x) const { return area.x + (x - left) / (right - left) * area.width; }
    double py(double y) const { return area.y + area.height - (y - bottom) / (top - bottom) * area.height; }
};

/// The 1, 2 or 5 times a power of ten that parts `range` into about `parts`.
double niceStep(double range, int parts) {
    const double raw = range / parts;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power) return factor * power;
    return 10 * power;
}

std::string timeText(double value, const std::string& unit) {
    if (unit != "h") return numberText(value) + " " + unit;
    const long minutes = std::lround(value * 60);
    const long ofDay = ((minutes % 1440) + 1440) % 1440;
    char text[32];
    std::snprintf(text, sizeof text, "%02ld:%02ld", ofDay / 60, ofDay % 60);
    return text;
}

double timeStep(double range, const std::string& unit) {
    if (unit != "h") return niceStep(range, 10);
    for (double step : {0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0})
        if (range / step <= 13) return step;
    return niceStep(range, 10);
}

void drawBands(cv::Mat& picture, const Axes& axes, const std::vector<TimelinePoint>& points) {
    cv::rectangle(picture, axes.area, kDay, cv::FILLED);
    for (size_t i = 0; i < points.size(); ++i) {
        if (!points[i].night) continue;
        const double from = i == 0 ? axes.left : (points[i - 1].time + points[i].time) / 2;
        const double to = i + 1 == points.size() ? axes.right : (points[i].time + points[i + 1].time) / 2;
        const int x0 = int(std::lround(axes.px(from))), x1 = int(std::lround(axes.px(to)));
        const cv::Rect band(x0, axes.area.y, x1 - x0, axes.area.height);
        cv::rectangle(picture, band & axes.area, kNight, cv::FILLED);
    }
}

void drawValueGrid(cv::Mat& picture, const Axes& axes, double step, const TextStyle& style) {
    for (double value = std::ceil(axes.bottom / step) * step; value <= axes.top + step * 1e-6;
         value += step) {
        const int y = int(std::lround(axes.py(value)));
        cv::line(picture, {axes.area.x, y}, {axes.area.br().x, y}, kGrid, 1);
        const std::string text = numberText(value);
        drawText(picture, text, {axes.area.x - 8 - textSize(text, style).width, y + int(style.height / 2)},
                 style);
    }
}

void drawTimeGrid(cv::Mat& picture, const Axes& axes, const std::string& unit, bool names) {
    TextStyle style;
    style.colour = kFaint;
    const double step = timeStep(axes.right - axes.left, unit);
    for (double value = std::ceil(axes.left / step) * step; value <= axes.right + step * 1e-6;
         value += step) {
        const int x = int(std::lround(axes.px(value)));
        cv::line(picture, {x, axes.area.y}, {x, axes.area.br().y}, kGrid, 1);
        if (!names) continue;
        const std::string text = timeText(value, unit);
        const int wide = textSize(text, style).width, most = picture.cols - wide - 2;
        drawText(picture, text, {std::min(x - wide / 2, most), axes.area.br().y + 20}, style);
    }
}

void drawCurve(cv::Mat& picture, const Axes& axes, const std::vector<cv::Point2d>& values,
               const cv::Scalar& colour, int width) {
    std::vector<cv::Point> line;
    for (const cv::Point2d& value : values)
        line.push_back(axes.fine(value.x, value.y));
    if (line.size() == 1) cv::circle(picture, line[0], 3 * 16, colour, cv::FILLED, cv::LINE_AA, 4);
    cv::polylines(picture, line, false, colour, width, cv::LINE_AA, 4);
}

std::vector<cv::Point2d> curve(const std::vector<TimelinePoint>& points, size_t stage) {
    std::vector<cv::Point2d> values;
    for (const TimelinePoint& point : points)
        if (stage < point.tokens.size()) values.emplace_back(point.time, point.tokens[stage]);
    return values;
}

/// Entries from right to left along the line of the title: a stroke of the colour and its name.
class Key {
public:
    Key(cv::Mat& picture, cv::Point rightEnd) : m_picture(picture), m_at(rightEnd) {}

    void add(const std::string& name, const cv::Scalar& colour, bool patch) {
        m_at.x -= textSize(name, m_style).width;
        drawText(m_picture, name, m_at, m_style);
        m_at.x -= 28;
        const int middle = m_at.y - int(m_style.height / 2);
        const cv::Rect swatch(m_at.x, middle - 6, 20, 12);
        if (patch) {
            cv::rectangle(m_picture, swatch, colour, cv::FILLED);
            cv::rectangle(m_picture, swatch, kFaint, 1);
        } else {
            cv::line(m_picture, {m_at.x, middle}, {m_at.x + 20, middle}, colour, 3, cv::LINE_AA);
        }
        m_at.x -= 24;
    }

private:
    cv::Mat& m_picture;
    cv::Point m_at;
    TextStyle m_style;
};

void drawTokens(cv::Mat& picture, const Axes& axes, const std::vector<TimelinePoint>& points,
                const TimelineStyle& style) {
    TextStyle small;
    small.colour = kFaint;
    drawBands(picture, axes, points);
    drawValueGrid(picture, axes, niceStep(axes.top - axes.bottom, 6), small);
    drawTimeGrid(picture, axes, style.unit, false);
    Key key(picture, {axes.area.br().x, axes.area.y - 14});
    key.add("night", kNight, true);
    key.add("day", kDay, true);
    const size_t stages = points.empty() ? 0 : points.front().tokens.size();
    for (size_t stage = stages; stage-- > 0;) {
        const cv::Scalar colour =
            kCurves[std::min(stage + kCurves.size() - std::min(stages, kCurves.size()), kCurves.size() - 1)];
        drawCurve(picture, axes, curve(points, stage), colour, 2);
        key.add(stage < style.stages.size() ? style.stages[stage] : "stage " + std::to_string(stage + 1),
                colour, false);
    }
    cv::rectangle(picture, axes.area, kFaint, 1);
}

void drawLuminance(cv::Mat& picture, const Axes& axes, const std::vector<TimelinePoint>& points,
                   const std::string& unit) {
    TextStyle small;
    small.colour = kFaint;
    drawBands(picture, axes, points);
    drawValueGrid(picture, axes, 0.5, small);
    drawTimeGrid(picture, axes, unit, true);
    std::vector<cv::Point2d> values;
    for (const TimelinePoint& point : points)
        values.emplace_back(point.time, point.luminance);
    drawCurve(picture, axes, values, kLight, 2);
    cv::rectangle(picture, axes.area, kFaint, 1);
    TextStyle name;
    name.colour = kInk;
    drawText(picture, "luminance", {axes.area.x + 8, axes.area.y + 18}, name);
}

std::string summaryText(const DayNightSummary& s) {
    const std::string day = "day " + fixedText(s.dayMean, 0) + " +- " + fixedText(s.daySpread, 0);
    const std::string night = "night " + fixedText(s.nightMean, 0) + " +- " + fixedText(s.nightSpread, 0);
    if (s.days == 0 || s.nights == 0) return "tokens kept: " + (s.days > 0 ? day : night);
    const std::string sign = std::signbit(s.difference()) ? "" : "+";
    return "tokens kept: " + day + ", " + night + ", night against day " + sign +
           fixedText(s.difference(), 1) + " %";
}

/// Tokens' axis: from zero would flatten the curves, so it begins a little below the lowest value.
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

DayNightSummary summarise(const std::vector<TimelinePoint>& points) {
    double sum[2] = {}, squares[2] = {};
    int count[2] = {};
    for (const TimelinePoint& point : points) {
        if (point.tokens.empty()) continue;
        const double kept = point.tokens.back();
        sum[point.night] += kept;
        squares[point.night] += kept * kept;
        ++count[point.night];
    }
    const auto mean = [&](int k) { return count[k] > 0 ? sum[k] / count[k] : 0; };
    const auto spread = [&](int k) {
        return count[k] > 1 ? std::sqrt(std::max(0.0, (squares[k] - sum[k] * mean(k)) / (count[k] - 1))) : 0;
    };
    return {mean(0), spread(0), mean(1), spread(1), count[0], count[1]};
}

cv::Mat drawTimeline(const std::vector<TimelinePoint>& points, const TimelineStyle& style) {
    cv::Mat picture(style.size, CV_8UC3, kPaper);
    TextStyle title{15, kInk, 1.5}, plain{11, kInk, 1};
    drawText(picture, style.title, {72, 34}, title);
    if (points.empty()) {
        drawText(picture, "nothing measured yet", {72, 70}, plain);
        return picture;
    }
    drawText(picture, summaryText(summarise(points)), {72, 60}, plain);
    const int width = style.size.width - 72 - 28;
    const int lower = std::max(60, style.size.height / 6);
    const double left = points.front().time, last = points.back().time;
    const double right = last > left ? last : left + 1;  // a single moment stands at the start of a unit
    const auto [low, high] = tokenRange(points, style.tokensIn);
    const Axes tokens{{72, 100, width, style.size.height - 100 - 24 - lower - 34}, left, right, low, high};
    const Axes light{{72, tokens.area.br().y + 24, width, lower}, left, right, 0, 1};
    drawTokens(picture, tokens, points, style);
    drawLuminance(picture, light, points, style.unit);
    return picture;
}

}  // namespace mpm::pipeline
