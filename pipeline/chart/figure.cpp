#include "pipeline/chart/figure.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>

#include "base/printable.hpp"
#include "pipeline/chart/axis.hpp"
#include "pipeline/chart/canvas.hpp"

namespace mpm::pipeline {

namespace {

// Six colours of Okabe and Ito, which colour-blind people can distinguish, and two other colours. Yellow is
// missing, because it is hard to see on white.
const std::vector<cv::Vec3b> kColours = {{0, 114, 178},  {213, 94, 0},  {0, 158, 115},   {204, 121, 167},
                                         {86, 180, 233}, {230, 159, 0}, {110, 110, 110}, {120, 80, 50}};
const Ink kText{{40, 40, 40}, 1, false, 1}, kFaint{{110, 110, 110}, 1, false, 1};
const Ink kGrid{{228, 228, 228}, 1, false, 1}, kAxis{{120, 120, 120}, 1, false, 1};
constexpr double kTitle = 16, kHeading = 13, kSmall = 11.5, kLabel = 10.5;
constexpr double kLeft = 56, kRight = 18, kHead = 34, kPanelHead = 44, kFoot = 46, kOrigin = 20;
constexpr int kTicks = 5;

/// Returns the names of all series in the order of first use.
std::vector<std::string> namesOf(const Figure& figure) {
    std::vector<std::string> names;
    for (const PlotPanel& panel : figure.panels)
        for (const PlotSeries& series : panel.series)
            if (!series.name.empty() && std::find(names.begin(), names.end(), series.name) == names.end())
                names.push_back(series.name);
    return names;
}

const std::string& keyOf(const PlotSeries& series) {
    return series.colourOf.empty() ? series.name : series.colourOf;
}

class Colours {
public:
    explicit Colours(const Figure& figure) : m_keys(figure.colours) {
        for (const PlotPanel& panel : figure.panels)
            for (const PlotSeries& series : panel.series) {
                const std::string& key = keyOf(series);
                if (key.empty()) continue;
                if (std::find(m_keys.begin(), m_keys.end(), key) == m_keys.end()) m_keys.push_back(key);
                m_keyOfName.try_emplace(series.name, key);
            }
    }
    cv::Vec3b of(const PlotSeries& series) const { return ofKey(keyOf(series)); }
    cv::Vec3b ofName(const std::string& name) const { return ofKey(m_keyOfName.at(name)); }

private:
    cv::Vec3b ofKey(const std::string& key) const {
        const auto at = std::find(m_keys.begin(), m_keys.end(), key);
        const size_t index = at == m_keys.end() ? 6 : static_cast<size_t>(at - m_keys.begin());
        return kColours[index % kColours.size()];
    }

    std::vector<std::string> m_keys;
    std::map<std::string, std::string> m_keyOfName;
};

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double value, double error) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value - error), high = std::max(high, value + error);
    }
    void widen(double share) {
        if (low > high) low = 0, high = 1;
        const double more = share * (high - low);
        low -= more, high += more;
    }
};

class PanelDrawing {
public:
    PanelDrawing(Canvas& canvas, const PlotPanel& panel, const Colours& colours, const cv::Rect2d& area)
        : m_canvas(canvas), m_panel(panel), m_colours(colours), m_area(area), m_x(xAxis()), m_y(yAxis()) {}

    void draw() {
        frame();
        if (!m_panel.categories.empty()) return bars();
        for (const PlotSeries& series : m_panel.series)
            curve(series);
        for (const PlotSeries& series : m_panel.series)
            points(series);
        for (const PlotSeries& series : m_panel.series)
            for (const PlotPoint& point : series.points)
                if (!point.label.empty() && visible(point)) label(point, inkOf(series));
    }

private:
    Axis xAxis() const {
        Range range;
        for (const PlotSeries& series : m_panel.series)
            for (const PlotPoint& point : series.points)
                range.add(point.x, point.xError);
        range.widen(0.06);
        if (!m_panel.categories.empty()) range = {-0.5, double(m_panel.categories.size()) - 0.5};
        if (m_panel.xFrom != m_panel.xTo) range = {m_panel.xFrom, m_panel.xTo};
        return {range.low, range.high, m_area.x, m_area.br().x};
    }

    Axis yAxis() const {
        Range range;
        for (const PlotSeries& series : m_panel.series)
            for (const PlotPoint& point : series.points)
                range.add(point.y, point.yError);
        const bool bars = !m_panel.categories.empty(), below = range.low < 0;
        range.widen(0.08);
        if (bars || m_panel.fromZero) {
            // The axis includes zero, and starts at zero unless there are bars below zero.
            if (!bars || !below) range.low = 0;
            range.high = std::max(0.0, range.high);
        }
        return {range.low, range.high, m_area.br().y, m_area.y};
    }

    Ink inkOf(const PlotSeries& series) const {
        return {m_colours.of(series), series.dashed ? 1.4 : 2, series.dashed, 1};
    }

    cv::Point2d place(const PlotPoint& point) const { return {m_x.pixel(point.x), m_y.pixel(point.y)}; }

    bool visible(const PlotPoint& point) const {
        return std::isfinite(point.x) && std::isfinite(point.y) && point.x >= m_x.from() - 1e-9 &&
               point.x <= m_x.to() + 1e-9;
    }

    void frame() {
        m_canvas.text(m_panel.title, {m_area.x - kLeft + 14, m_area.y - 26}, kHeading, kText, Anchor::Start,
                      true);
        m_canvas.text(m_panel.yLabel, {m_area.x - kLeft + 14, m_area.y - 9}, kSmall, kFaint, Anchor::Start,
                      false);
        m_canvas.text(m_panel.xLabel, {m_area.x + m_area.width / 2, m_area.br().y + 36}, kSmall, kFaint,
                      Anchor::Middle, false);
        for (double tick : m_y.ticks(kTicks)) {
            const double y = m_y.pixel(tick);
            m_canvas.line({{m_area.x, y}, {m_area.br().x, y}}, tick == 0 ? kAxis : kGrid);
            m_canvas.text(m_y.text(tick, kTicks), {m_area.x - 7, y + 4}, kSmall, kFaint, Anchor::End, false);
        }
        m_canvas.line({{m_area.x, m_area.br().y}, m_area.br()}, kAxis);
        if (!m_panel.categories.empty()) return categories();
        const int about = 7;
        for (double tick : m_x.ticks(about)) {
            const double x = m_x.pixel(tick);
            m_canvas.line({{x, m_area.br().y}, {x, m_area.br().y + 4}}, kAxis);
            m_canvas.text(m_x.text(tick, about), {x, m_area.br().y + 18}, kSmall, kFaint, Anchor::Middle,
                          false);
        }
    }

    void categories() {
        for (size_t i = 0; i < m_panel.categories.size(); ++i)
            m_canvas.text(m_panel.categories[i], {m_x.pixel(double(i)), m_area.br().y + 18}, kSmall, kFaint,
                          Anchor::Middle, false);
    }

    void curve(const PlotSeries& series) {
        std::vector<cv::Point2d> line;
        for (const PlotPoint& point : series.points)
            if (visible(point)) line.push_back(place(point));
        if (!series.line || line.size() < 2) return;
        m_canvas.line(line, inkOf(series));
        for (size_t i = 1; i < line.size(); ++i)
            for (double share = 0; share < 1; share += 4 / (cv::norm(line[i] - line[i - 1]) + 4))
                m_taken.push_back({line[i - 1] + (line[i] - line[i - 1]) * share, cv::Size2d(1, 1)});
    }

    void whisker(const PlotPoint& point, const Ink& ink) {
        const cv::Point2d at = place(point);
        const double dx = std::abs(m_x.pixel(point.x + point.xError) - at.x);
        const double dy = std::abs(m_y.pixel(point.y + point.yError) - at.y);
        const Ink thin{ink.colour, 1.2, false, 1};
        if (dx > 1) m_canvas.line({{at.x - dx, at.y}, {at.x + dx, at.y}}, thin);
        if (dy > 1) m_canvas.line({{at.x, at.y - dy}, {at.x, at.y + dy}}, thin);
    }

    void points(const PlotSeries& series) {
        for (const PlotPoint& point : series.points) {
            if (!visible(point)) continue;
            whisker(point, inkOf(series));
            if (series.markers) m_canvas.disc(place(point), series.radius, inkOf(series), series.ring);
            m_taken.push_back({place(point) - cv::Point2d(3, 3), cv::Size2d(6, 6)});
        }
    }

    /// Writes a label in a free place next to the point. If no place is free, leaves the label out.
    void label(const PlotPoint& point, const Ink& ink) {
        const cv::Point2d at = place(point);
        const double width = textWidth(point.label, kLabel), height = kLabel;
        const cv::Point2d corners[] = {{at.x + 6, at.y - height - 2},         {at.x + 6, at.y + 2},
                                       {at.x - 6 - width, at.y - height - 2}, {at.x - 6 - width, at.y + 2},
                                       {at.x - width / 2, at.y - height - 7}, {at.x - width / 2, at.y + 6}};
        for (const cv::Point2d& corner : corners) {
            const cv::Rect2d box(corner, cv::Size2d(width, height));
            const bool inside = box.x >= m_area.x && box.br().x <= m_area.br().x + kRight - 4 &&
                                box.y >= m_area.y - 6 && box.br().y <= m_area.br().y;
            const bool free = std::none_of(m_taken.begin(), m_taken.end(),
                                           [&](const cv::Rect2d& other) { return (box & other).area() > 0; });
            if (!inside || !free) continue;
            m_taken.push_back(box);
            m_canvas.text(point.label, {corner.x, corner.y + height - 2}, kLabel, {ink.colour, 1, false, 1},
                          Anchor::Start, false);
            return;
        }
    }

    void bars() {
        const double group = m_x.pixel(1) - m_x.pixel(0), count = double(m_panel.series.size());
        const double each = std::min(30.0, 0.8 * group / std::max(count, 1.0));
        for (size_t s = 0; s < m_panel.series.size(); ++s) {
            const Ink ink = inkOf(m_panel.series[s]);
            for (const PlotPoint& point : m_panel.series[s].points) {
                if (!visible(point)) continue;
                const double x = m_x.pixel(point.x) + (double(s) - count / 2) * each;
                const double top = m_y.pixel(std::max(point.y, 0.0)),
                             bottom = m_y.pixel(std::min(point.y, 0.0));
                m_canvas.box({x + 1, top, each - 2, std::max(bottom - top, 0.5)}, ink);
                const double middle = x + each / 2, error = std::abs(m_y.pixel(point.yError) - m_y.pixel(0));
                const double end = m_y.pixel(point.y);
                if (error > 1) m_canvas.line({{middle, end - error}, {middle, end + error}}, kText);
            }
        }
    }

    Canvas& m_canvas;
    const PlotPanel& m_panel;
    const Colours& m_colours;
    cv::Rect2d m_area;
    Axis m_x, m_y;
    std::vector<cv::Rect2d> m_taken;
};

/// A legend, with as many entries in each row as fit.
class Legend {
public:
    Legend(const Figure& figure, double width) : m_names(namesOf(figure)), m_colours(figure) {
        double x = 14;
        for (const std::string& name : m_names) {
            const double entry = textWidth(name, kSmall) + 34;
            if (x + entry > width && x > 14) x = 14, ++m_rows;
            m_places.emplace_back(x, m_rows * 18.0);
            x += entry;
        }
        m_rows = m_names.size() < 2 ? 0 : m_rows + 1;
    }

    double height() const { return m_rows * 18.0 + (m_rows > 0 ? 8 : 0); }
    const Colours& colours() const { return m_colours; }

    void draw(Canvas& canvas) const {
        for (size_t i = 0; i < m_names.size() && m_rows > 0; ++i) {
            const cv::Point2d at = m_places[i] + cv::Point2d(0, kHead + 6);
            canvas.box({at.x, at.y - 1, 14, 10}, {m_colours.ofName(m_names[i]), 1, false, 1});
            canvas.text(m_names[i], {at.x + 19, at.y + 8}, kSmall, kText, Anchor::Start, false);
        }
    }

private:
    std::vector<std::string> m_names;
    Colours m_colours;
    std::vector<cv::Point2d> m_places;
    int m_rows = 0;
};

cv::Size sizeOf(const Figure& figure) {
    const int width = figure.panel.width * static_cast<int>(figure.panels.size());
    const Legend legend(figure, width);
    const double origin = figure.origin.empty() ? 0 : kOrigin;
    return {width, figure.panel.height + cvRound(kHead + legend.height() + origin)};
}

void draw(const Figure& figure, Canvas& canvas) {
    const cv::Size size = sizeOf(figure);
    const Legend legend(figure, size.width);
    canvas.text(figure.title, {14, 24}, kTitle, kText, Anchor::Start, true);
    legend.draw(canvas);
    if (!figure.origin.empty())
        canvas.text(figure.origin, {14, size.height - 9.0}, kLabel, kFaint, Anchor::Start, false);
    for (size_t i = 0; i < figure.panels.size(); ++i) {
        const double x = double(i) * figure.panel.width, y = kHead + legend.height();
        const cv::Rect2d area(x + kLeft, y + kPanelHead, figure.panel.width - kLeft - kRight,
                              figure.panel.height - kPanelHead - kFoot);
        PanelDrawing(canvas, figure.panels[i], legend.colours(), area).draw();
    }
}

}  // namespace

std::string originText(const std::vector<std::string>& parts) {
    constexpr std::size_t kLongest = 60;
    std::string text;
    for (const std::string& part : parts)
        if (!part.empty()) text += printable(part, kLongest) + " · ";
    const std::time_t now = std::time(nullptr);
    std::tm day{};
    localtime_r(&now, &day);
    char date[16];
    std::strftime(date, sizeof date, "%Y-%m-%d", &day);
    return text + date;
}

std::string toSvg(const Figure& figure) {
    SvgCanvas canvas(sizeOf(figure));
    draw(figure, canvas);
    return canvas.finish();
}

cv::Mat toImage(const Figure& figure) {
    PixelCanvas canvas(sizeOf(figure), 2);
    draw(figure, canvas);
    return canvas.image();
}

}  // namespace mpm::pipeline
