// How the timeline is painted.
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

using pipeline::Summed;

constexpr double kJitter = 2'000;  // milliseconds between two readings of a busy machine

/// Lines of the grid, about.
constexpr int kGridLines = 4;

const Span& keptOf(const TimelineColumn& column) {
    return column.kept;
}
template <pipeline::Summed Field>
const Span& meanOf(const TimelineColumn& column) {
    return column.of(Field);
}

}  // namespace

/// Columns that a curve may bridge: three times the usual distance of readings. A longer gap is a stall, or
/// the time between two runs.
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

void TimelineView::placeLanes(Lanes& lanes, bool saves) const {
    QRectF area = plot();
    // Lanes of classes are below the others, as many as leave half of the height.
    constexpr double kLeast = 22, kMost = 60;
    const int classes = static_cast<int>(m_classLanes.size());
    const int fit = std::min(classes, static_cast<int>(area.height() / 2 / kLeast));
    const double each = fit > 0 ? std::clamp(area.height() / 2 / fit, kLeast, kMost) : 0;
    for (int i = 0; i < fit; ++i)
        lanes[3 + i].area = QRectF(area.left(), area.bottom() - each * (fit - i) + 5, area.width(), each - 5);
    area.setBottom(area.bottom() - each * fit);
    const double gap = 5;
    // On a low screen the tokens alone: three curves a few pixels high are unreadable.
    const bool low = area.height() < 85;
    const double room = low ? 0 : area.height() - 2 * gap;
    const double luminance = low ? 0 : std::max(18.0, room * 0.2);
    const double times = low ? 0 : std::max(18.0, room * (saves ? 0.28 : 0.2));
    const double timesTop = area.bottom() - times, luminanceTop = timesTop - luminance - (low ? 0 : gap);
    lanes[2].area = QRectF(area.left(), timesTop, area.width(), times);
    lanes[1].area = QRectF(area.left(), luminanceTop, area.width(), luminance);
    lanes[0].area = QRectF(area.topLeft(), QPointF(area.right(), luminanceTop - (low ? 0 : gap)));
}

TimelineView::Lanes TimelineView::lanes(const Columns& columns) const {
    double least = 1e9, longest = 1, lost = 0;
    bool saves = false;
    for (const TimelineColumn& column : columns) {
        if (!column.any()) continue;
        least = std::min(least, column.kept.least);
        longest = std::max(longest, column.of(Summed::Latency).most);
        const Span& saved = column.of(Summed::SavedMs);
        if (!saved.any()) continue;
        saves = true;
        longest = std::max(longest, saved.most);
        lost = std::min(lost, saved.least);
    }
    Lanes lanes(3 + m_classLanes.size());
    placeLanes(lanes, saves);
    for (std::size_t i = 0; i < m_classLanes.size(); ++i) {
        Span all;
        for (const TimelineColumn& column : columns)
            if (i < column.shares.size() && column.shares[i].any())
                all.add(column.shares[i].least, column.shares[i].most, 0, 1);
        // An axis from least to most: changes are seen, and the numbers say how large they are.
        const double margin = std::max(0.05, 0.08 * (all.most - all.least));
        lanes[3 + i].least = std::max(0.0, all.least - margin);
        lanes[3 + i].most = all.most + margin;
    }
    lanes[0].most = 104;  // percent
    // Differences of some percent must be seen: the axis begins at a round count below the lowest.
    const double base = least < 1e9 ? least - 0.12 * (lanes[0].most - least) : 0;
    const double step = pipeline::roundStep(std::max(1e-9, lanes[0].most - base), kGridLines);
    lanes[0].least = std::max(0.0, std::floor(base / step) * step);
    lanes[2].least = lost * 1.1;
    lanes[2].most = longest * 1.1;
    return lanes;
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

void TimelineView::paintGrid(QPainter& painter, const Lanes& lanes) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    painter.setPen(theme.grid);
    for (std::size_t i = 0; i < 3; ++i)
        painter.drawLine(lanes[i].area.bottomLeft(), lanes[i].area.bottomRight());
    if (lanes[2].least < 0 && lanes[2].area.height() > 0) {  // below this line, time is lost
        const double none = lanes[2].y(0);
        painter.drawLine(QPointF(area.left(), none), QPointF(area.right(), none));
    }
    const double step = pipeline::roundStep(std::max(1e-9, lanes[0].most - lanes[0].least), kGridLines);
    for (const double value : pipeline::ticksBetween(lanes[0].least, lanes[0].most, step)) {
        if (m_data->empty()) break;
        const double y = lanes[0].y(value);
        painter.setPen(theme.grid);
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        if (y > lanes[0].area.bottom() - 8) continue;  // the lane below has text there
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, y - 10, area.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter,
                         tr("%1 %").arg(QString::fromStdString(pipeline::tickText(value, step))));
    }
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
void TimelineView::paintCurve(QPainter& painter, const Columns& columns, const Lane& lane, const QPen& pen,
                              Of of) const {
    const int gap = gapAllowed(columns);
    QPainterPath path;
    int last = -gap - 1;
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        const Span& span = of(columns[x]);
        if (!span.any()) continue;
        const QPointF at(lane.area.left() + x + 0.5, lane.y(span.mean()));
        if (x - last > gap) path.moveTo(at - QPointF(0.5, 0));
        path.lineTo(at);
        last = x;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(pen);
    painter.drawPath(path);
}

/// From the lowest to the highest count of a column, which a mean over an hour would hide.
void TimelineView::paintSpread(QPainter& painter, const Columns& columns, const Lane& lane,
                               const QColor& colour) const {
    QColor light = colour;
    light.setAlpha(90);
    painter.setPen(light);
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
        const Span& kept = columns[x].kept;
        if (!kept.any() || kept.most - kept.least < 0.1) continue;
        const double at = lane.area.left() + x + 0.5;
        painter.drawLine(QPointF(at, lane.y(kept.least)), QPointF(at, lane.y(kept.most)));
    }
}

void TimelineView::paintTokens(QPainter& painter, const Columns& columns, const Lane& lane) const {
    const Theme& theme = Theme::of(this);
    painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
    const double all = lane.y(100);
    painter.drawLine(QPointF(lane.area.left(), all), QPointF(lane.area.right(), all));
    for (int stage = TimelineColumn::kStages - 1; stage >= 0; --stage)
        paintCurve(painter, columns, lane, QPen(theme.stages[stage], 1.3, Qt::DashLine),
                   [stage](const TimelineColumn& column) -> const Span& { return column.stages[stage]; });
    paintSpread(painter, columns, lane, theme.kept);
    paintCurve(painter, columns, lane, QPen(theme.kept, 1.8), keptOf);
}

double TimelineView::paintLane(QPainter& painter, const Columns& columns, const Lane& lane, double left,
                               Pick pick, const QColor& colour, const QString& name) const {
    paintCurve(painter, columns, lane, QPen(colour, 1.5), pick);
    // On a plate: a curve that begins at the left edge must not cross the curve's name.
    const QRectF plate(left, lane.area.top() - 2, painter.fontMetrics().horizontalAdvance(name) + 6,
                       painter.fontMetrics().height());
    QColor ground = Theme::of(this).plot;
    ground.setAlpha(210);
    painter.fillRect(plate, ground);
    painter.setPen(colour);
    painter.drawText(plate, Qt::AlignCenter, name);
    return plate.right();
}

void TimelineView::paintTop(QPainter& painter, const Lane& lane, const QString& text) const {
    painter.setPen(Theme::of(this).muted);
    painter.drawText(QRectF(0, lane.area.top() - 2, lane.area.left() - 6, 16),
                     Qt::AlignRight | Qt::AlignVCenter, text);
}

/// The lanes below the tokens. Latency and time saved share a lane, as both are milliseconds.
void TimelineView::paintLanes(QPainter& painter, const Columns& columns, const Lanes& lanes) const {
    const Theme& theme = Theme::of(this);
    const double left = plot().left() + 2;
    paintTop(painter, lanes[1], QStringLiteral("1"));
    paintLane(painter, columns, lanes[1], left, meanOf<Summed::Luminance>, theme.luminance, tr("Luminance"));
    paintTop(painter, lanes[2], tr("%1 ms").arg(lanes[2].most, 0, 'f', 0));
    const double next =
        paintLane(painter, columns, lanes[2], left, meanOf<Summed::Latency>, theme.latency, tr("Latency"));
    const auto saves = [](const TimelineColumn& column) { return column.of(Summed::SavedMs).any(); };
    if (std::any_of(columns.begin(), columns.end(), saves))
        paintLane(painter, columns, lanes[2], next + 6, meanOf<Summed::SavedMs>, theme.saved,
                  tr("Time saved"));
}

void TimelineView::paintClasses(QPainter& painter, const Columns& columns, const Lanes& lanes) const {
    const Theme& theme = Theme::of(this);
    const int line = painter.fontMetrics().height();
    for (std::size_t i = 0; i < m_classLanes.size(); ++i) {
        const Lane& lane = lanes[3 + i];
        if (lane.area.height() <= 0) continue;
        const auto& [name, colour] = m_classLanes[i];
        painter.setPen(theme.grid);
        painter.drawLine(lane.area.bottomLeft(), lane.area.bottomRight());
        paintCurve(painter, columns, lane, QPen(colour, 1.8),
                   [i](const TimelineColumn& column) -> const Span& {
                       static const Span none;
                       return i < column.shares.size() ? column.shares[i] : none;
                   });
        painter.setPen(theme.muted);
        const QRectF axis(0, lane.area.top() - 3, lane.area.left() - 6, lane.area.height() + 6);
        painter.drawText(axis, Qt::AlignRight | Qt::AlignTop, tr("%1 %").arg(lane.most, 0, 'f', 1));
        if (axis.height() > 2 * line)
            painter.drawText(axis, Qt::AlignRight | Qt::AlignBottom, tr("%1 %").arg(lane.least, 0, 'f', 1));
        const QRectF plate(lane.area.left() + 2, lane.area.top() - 2,
                           painter.fontMetrics().horizontalAdvance(name) + 20, line);
        QColor ground = theme.plot;
        ground.setAlpha(210);
        painter.fillRect(plate, ground);
        painter.fillRect(QRectF(plate.left() + 3, plate.center().y() - 4, 9, 9), colour);
        painter.setPen(theme.text);
        painter.drawText(plate.adjusted(16, 0, 4, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
    }
}

void TimelineView::paintEvents(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    for (const pipeline::Event& event : m_data->events(m_from, m_to)) {
        if (event.kind == "day" || event.kind == "night") continue;  // the bands show them
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

/// Minutes and hours have no curve for each merge, and may be of several schedules.
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
    const auto lane = lanes(all);
    paintBands(painter, all);
    paintGrid(painter, lane);
    painter.setRenderHint(QPainter::Antialiasing);
    paintFocusFrame(painter, *this);
    if (m_data->empty()) {
        const QString words = tr("Measurements appear here with the first frame");
        painter.fillRect(painter.boundingRect(plot(), Qt::AlignCenter, words).adjusted(-6, -2, 6, 2),
                         theme.plot);  // no line of the grid through them
        painter.setPen(theme.muted);
        painter.drawText(plot(), Qt::AlignCenter, words);
        return;
    }
    painter.save();
    painter.setClipRect(plot());
    paintTokens(painter, all, lane[0]);
    paintEvents(painter);
    painter.restore();
    paintLegend(painter, all);
    if (lane[1].area.height() > 0) paintLanes(painter, all, lane);
    paintClasses(painter, all, lane);
    paintHover(painter, all);
}

}  // namespace mpm::gui
