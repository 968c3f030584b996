// TimelineView: layout and painting.
#include <algorithm>
#include <cmath>

#include <QPainter>
#include <QPainterPath>

#include "gui/charts/time_axis.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/widgets/plate.hpp"
#include "gui/widgets/theme.hpp"
#include "pipeline/chart/axis.hpp"

namespace mpm::gui {

namespace {

constexpr double kJitter = 2'000;  // in milliseconds; a curve bridges every gap of at most this length

constexpr int kGridLines = 4;

/// The smallest height at which a lane is readable. The plot of the tokens must be at least twice as high.
constexpr double kLeastHeight = 22;

}  // namespace

/// Returns the largest gap between readings, in columns, that a curve bridges: three times the usual gap, at
/// least kJitter. In a longer gap, the source had stalled or the program was not running.
int TimelineView::gapAllowed(const Columns& columns) const {
    std::vector<int> distances;
    int last = -1;
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        if (!columns[x].any()) continue;
        if (last >= 0) distances.push_back(x - last);
        last = x;
    }
    if (distances.empty()) return 2;
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    const double perColumn = std::max(1.0, double(m_to - m_from) / std::max(1.0, plot().width()));
    return std::max({2, 3 * *middle, static_cast<int>(kJitter / perColumn)});
}

/// If the height is too small for all lanes, shows only the last lanes, which are the lanes that the user
/// chose.
void TimelineView::placeLanes(Places& places) const {
    const QRectF area = plot();
    const int count = static_cast<int>(m_lanes.size());
    const bool chosen = count > 0 && m_lanes.back().curves.front().quantity;
    const int room = static_cast<int>(area.height() / kLeastHeight) - 2;
    const int fit = std::clamp(room, chosen ? 1 : 0, count);
    const double each = fit > 0 ? std::clamp(area.height() * 0.6 / fit, kLeastHeight,
                                             std::max(kLeastHeight, area.height() * 0.22))
                                : 0;
    for (int i = 0; i < fit; ++i)
        places[1 + count - fit + i].area =
            QRectF(area.left(), area.bottom() - each * (fit - i) + 5, area.width(), each - 5);
    places[0].area = area.adjusted(0, 0, 0, -each * fit);
}

TimelineView::Places TimelineView::places(const Columns& columns) const {
    Places places(1 + m_lanes.size());
    placeLanes(places);
    for (std::size_t i = 0; i < m_lanes.size(); ++i) {
        Span all;
        for (const TimelineColumn& column : columns)
            for (const Curve& curve : m_lanes[i].curves)
                if (const Span& span = curve.of(column); span.any()) all.add(span.least, span.most, 0, 1);
        // The axis covers only the range of the values, so that changes are visible.
        const double least = m_lanes[i].curves.front().leastRange;
        const double margin = std::max(least / 2, 0.08 * (all.most - all.least));
        places[1 + i].least = all.least < 0 ? all.least - margin : std::max(0.0, all.least - margin);
        places[1 + i].most = all.most + margin;
        if (m_lanes[i].curves.front().unit == Curve::Unit::Objects) {
            places[1 + i].least = 0;
            places[1 + i].most = std::max(1.0, std::ceil(all.most));
        }
    }
    double least = 1e9;
    for (const TimelineColumn& column : columns)
        if (column.any()) least = std::min(least, column.kept.least);
    Place& tokens = places[0];
    tokens.most = 104;  // percent
    // The axis begins at a grid line below the lowest value, so that differences of some percent are visible.
    const double base = least < 1e9 ? least - 0.12 * (tokens.most - least) : 0;
    const double step = pipeline::roundStep(std::max(1e-9, tokens.most - base), kGridLines);
    tokens.least = std::max(0.0, std::floor(base / step) * step);
    return places;
}

void TimelineView::paintBands(QPainter& painter, const Columns& columns) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const int gap = gapAllowed(columns);
    int start = -1, last = -1;
    bool night = false;
    const auto close = [&](int end) {
        if (start < 0) return;
        painter.fillRect(QRectF(area.left() + start, area.top(), end - start, area.height()),
                         night ? theme.nightBand : theme.dayBand);
        start = -1;
    };
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        if (!columns[x].any()) continue;
        const bool far = start >= 0 && x - last > gap;
        if (start >= 0 && (far || columns[x].night() != night)) close(far ? last + 1 : x);
        if (start < 0) start = x, night = columns[x].night();
        last = x;
    }
    close(last + 1);
}

void TimelineView::paintGrid(QPainter& painter, const Places& places) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    painter.setPen(theme.grid);
    for (const Place& place : places) {
        if (place.area.height() <= 0) continue;
        painter.drawLine(place.area.bottomLeft(), place.area.bottomRight());
        if (place.least >= 0) continue;
        const double none = place.y(0);  // the zero line, because some values are negative
        painter.drawLine(QPointF(area.left(), none), QPointF(area.right(), none));
    }
    const Place& tokens = places[0];
    const double step = pipeline::roundStep(std::max(1e-9, tokens.most - tokens.least), kGridLines);
    for (const double value : pipeline::ticksBetween(tokens.least, tokens.most, step)) {
        if (m_data->empty()) break;
        const double y = tokens.y(value);
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        if (y > tokens.area.bottom() - 8) continue;  // the lane below has text there
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, y - 10, area.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter,
                         tr("%1 %").arg(QString::fromStdString(pipeline::tickText(value, step))));
    }
}

void TimelineView::paintTimes(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const int most = std::max(2, static_cast<int>(area.width() / 90));
    for (const TimeMark& mark : timeMarks(m_from, m_to, most)) {
        const double x = xOf(mark.time);
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        painter.setPen(theme.muted);
        const QRectF text(x - 45, area.bottom() + 2, 90, fontMetrics().height());
        if (text.left() >= 0 && text.right() <= width()) painter.drawText(text, Qt::AlignCenter, mark.text);
    }
}

template <typename Of>
void TimelineView::paintCurve(QPainter& painter, const Columns& columns, const Place& place, const QPen& pen,
                              Of of) const {
    const int gap = gapAllowed(columns);
    QPainterPath path;
    int last = -gap - 1;
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        const Span& span = of(columns[x]);
        if (!span.any()) continue;
        const QPointF at(place.area.left() + x + 0.5, place.y(span.mean()));
        if (x - last > gap) path.moveTo(at - QPointF(0.5, 0));
        path.lineTo(at);
        last = x;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(pen);
    painter.drawPath(path);
}

/// Draws the range from the lowest to the highest value in each column. The mean would hide this range.
void TimelineView::paintSpread(QPainter& painter, const Columns& columns, const Place& place,
                               const QColor& colour) const {
    QColor light = colour;
    light.setAlpha(90);
    painter.setPen(light);
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        const Span& kept = columns[x].kept;
        if (!kept.any() || kept.most - kept.least < 0.1) continue;
        const double at = place.area.left() + x + 0.5;
        painter.drawLine(QPointF(at, place.y(kept.least)), QPointF(at, place.y(kept.most)));
    }
}

void TimelineView::paintTokens(QPainter& painter, const Columns& columns, const Place& place) const {
    const Theme& theme = Theme::of(this);
    painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
    const double all = place.y(100);
    painter.drawLine(QPointF(place.area.left(), all), QPointF(place.area.right(), all));
    for (int stage = TimelineColumn::kStages - 1; stage >= 0; --stage)
        paintCurve(painter, columns, place, QPen(theme.stages[stage], 1.3, Qt::DashLine),
                   [stage](const TimelineColumn& column) -> const Span& { return column.stages[stage]; });
    paintSpread(painter, columns, place, theme.kept);
    paintCurve(painter, columns, place, QPen(theme.kept, 1.8), tokensCurve().of);
}

void TimelineView::paintLane(QPainter& painter, const Columns& columns, const Lane& lane,
                             const Place& place) const {
    if (place.area.height() <= 0) return;
    const Theme& theme = Theme::of(this);
    const auto seen = [&columns](const Curve& curve) {
        return std::any_of(columns.begin(), columns.end(),
                           [&curve](const TimelineColumn& column) { return curve.of(column).any(); });
    };
    const QRectF axis(0, place.area.top() - 3, place.area.left() - 6, place.area.height() + 6);
    const int line = painter.fontMetrics().height();
    double left = place.area.left() + 2;
    for (const Curve& curve : lane.curves) {
        const bool first = &curve == &lane.curves.front();
        if (!seen(curve) && !first) continue;
        const QColor colour = curve.colourIn(theme);
        painter.save();
        painter.setClipRect(place.area.adjusted(0, -2, 0, 2));
        paintCurve(painter, columns, place, QPen(colour, 1.6), curve.of);
        painter.restore();
        // A plate behind the name keeps it readable if a curve begins at the left edge.
        const QRectF plate(left, place.area.top() - 2,
                           painter.fontMetrics().horizontalAdvance(curve.name) + 20, line);
        QColor ground = theme.plot;
        ground.setAlpha(210);
        painter.fillRect(plate, ground);
        painter.fillRect(QRectF(plate.left() + 3, plate.center().y() - 4, 9, 9), colour);
        painter.setPen(theme.text);
        painter.drawText(plate.adjusted(16, 0, 4, 0), Qt::AlignLeft | Qt::AlignVCenter, curve.name);
        left = plate.right() + 6;
        if (!first || !seen(curve)) continue;
        painter.setPen(theme.muted);
        painter.drawText(axis, Qt::AlignRight | Qt::AlignTop, curve.text(place.most));
        if (axis.height() > 2 * line)
            painter.drawText(axis, Qt::AlignRight | Qt::AlignBottom, curve.text(place.least));
    }
}

void TimelineView::paintEvents(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    for (const pipeline::Event& event : m_data->events(m_from, m_to)) {
        if (event.kind == "day" || event.kind == "night") continue;  // the bands show day and night
        const double x = xOf(event.time.count());
        const QColor colour = event.kind == "source"  ? theme.bad
                              : event.kind == "alert" ? theme.warning
                                                      : theme.muted;
        painter.setPen(QPen(colour, 1, Qt::DotLine));
        painter.drawLine(QPointF(x, area.top() + 6), QPointF(x, area.bottom()));
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPolygon(
            QPolygonF{QPointF(x - 4, area.top()), QPointF(x + 4, area.top()), QPointF(x, area.top() + 7)});
    }
}

/// If the timeline shows means over minutes or hours, the legend has no entries for merges, because a mean
/// may cover several schedules.
void TimelineView::paintLegend(QPainter& painter, const Columns& columns) const {
    const Theme& theme = Theme::of(this);
    const int count = static_cast<int>(m_blocks.size());
    const bool single = m_data->readingsShown(m_from, m_to, static_cast<int>(columns.size()));
    std::vector<std::pair<QColor, QString>> entries;
    for (int i = 0; single && i + 1 < count && i < TimelineColumn::kStages; ++i)
        entries.emplace_back(theme.stages[i], tr("before block %1").arg(m_blocks[i]));
    entries.emplace_back(theme.kept,
                         !single     ? tr("tokens computed: mean, and from least to most")
                         : count > 0 ? tr("tokens kept, after merging before block %1").arg(m_blocks.back())
                         : m_reuse   ? tr("tokens computed, with reuse")
                                     : tr("all tokens"));
    double x = plot().left();
    for (size_t i = 0; i < entries.size(); ++i) {
        const auto& [colour, text] = entries[i];
        const double y = fontMetrics().height() / 2.0;
        painter.setPen(QPen(colour, 2, i + 1 == entries.size() ? Qt::SolidLine : Qt::DashLine));
        painter.drawLine(QPointF(x, y), QPointF(x + 18, y));
        painter.setPen(theme.muted);
        painter.drawText(QPointF(x + 24, fontMetrics().ascent()), text);
        x += 24 + painter.fontMetrics().horizontalAdvance(text) + 18;
    }
}

void TimelineView::paintHover(QPainter& painter, const Columns&) const {
    const QRectF area = plot();
    if (m_hover < area.left() || m_hover > area.right()) return;
    painter.setPen(QPen(Theme::of(this).text, 1));
    painter.drawLine(QPointF(m_hover, area.top()), QPointF(m_hover, area.bottom()));
    QString text = describe(static_cast<int>(m_hover));
    const Time reach = (m_to - m_from) * 6 / std::max<Time>(1, static_cast<Time>(area.width()));
    for (const pipeline::Event& event : m_data->events(timeAt(m_hover) - reach, timeAt(m_hover) + reach))
        text += QStringLiteral("  ·  ") + QString::fromStdString(event.kind + " " + event.text);
    paintPlateBeside(painter, area.adjusted(0, fontMetrics().height(), 0, 0), m_hover, text);
}

void TimelineView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setFont(scaled(font(), 0.85));
    painter.fillRect(plot(), theme.plot);
    const Columns all = columns();
    const Places where = places(all);
    paintBands(painter, all);
    paintGrid(painter, where);
    paintTimes(painter);
    painter.setRenderHint(QPainter::Antialiasing);
    paintFocusFrame(painter, *this);
    if (m_data->empty()) {
        const QString words = tr("Measurements appear here with the first frame");
        painter.fillRect(painter.boundingRect(plot(), Qt::AlignCenter, words).adjusted(-6, -2, 6, 2),
                         theme.plot);  // so that no grid line crosses the words
        painter.setPen(theme.muted);
        painter.drawText(plot(), Qt::AlignCenter, words);
        return;
    }
    painter.save();
    painter.setClipRect(plot());
    paintTokens(painter, all, where[0]);
    paintEvents(painter);
    painter.restore();
    paintLegend(painter, all);
    for (std::size_t i = 0; i < m_lanes.size(); ++i)
        paintLane(painter, all, m_lanes[i], where[1 + i]);
    paintHover(painter, all);
}

}  // namespace mpm::gui
