#include "gui/charts/hour_view.hpp"

#include <QKeyEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>

#include "gui/widgets/plate.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr int kMostDays = 62;
constexpr int kScale = 120;  // width of the colour scale in pixels

/// Returns the colour of a share (0 to 1). All colours have the same hue, so that colour-blind users see the
/// order.
QColor heat(const Theme& theme, double share) {
    const QColor low = theme.dark ? QColor(0x22303F) : QColor(0xE3EEF9);
    const QColor high = theme.dark ? QColor(0x9AD0FF) : QColor(0x0B4F9C);
    const auto mix = [share](int a, int b) { return static_cast<int>(a + (b - a) * share); };
    return QColor(mix(low.red(), high.red()), mix(low.green(), high.green()), mix(low.blue(), high.blue()));
}

}  // namespace

HourView::HourView(const TimelineData* data, QWidget* parent) : QWidget(parent), m_data(data) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Means by hour of the day and date"));
    connect(&m_again, &QTimer::timeout, this, &HourView::refresh);
    m_again.start(5'000);
}

void HourView::refresh() {
    if (!isVisible()) return;
    m_map = HourMap(*m_data, m_curve.of);
    update();
}

void HourView::setCurve(const Curve& curve) {
    m_curve = curve;
    refresh();
}

QRectF HourView::plot() const {
    const double left = fontMetrics().horizontalAdvance(QStringLiteral("00:00")) + 10;
    return QRectF(rect()).adjusted(left, fontMetrics().height() + 6, -8, -(fontMetrics().height() + 6));
}

int HourView::firstDay() const {
    return std::max(0, m_map.days() - kMostDays - m_back);
}

QRectF HourView::cell(int day, int hour) const {
    const QRectF area = plot();
    const int shown = std::max(7, std::min(kMostDays, m_map.days() - firstDay()));
    const double width = std::min(area.width() / shown, 64.0), height = area.height() / 24;
    return {area.left() + (day - firstDay()) * width, area.top() + hour * height, width, height};
}

void HourView::paintCells(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const double range = std::max({1e-9, m_curve.leastRange, m_map.most() - m_map.least()});
    for (int day = firstDay(); day < m_map.days() - m_back; ++day)
        for (int hour = 0; hour < 24; ++hour) {
            const HourMap::Cell& found = m_map.at(day, hour);
            if (found.count == 0) continue;
            const QRectF place = cell(day, hour);
            painter.fillRect(place.adjusted(0.5, 0.5, -0.5, -0.5),
                             heat(theme, (found.mean - m_map.least()) / range));
            if (!found.outlier) continue;
            // A triangle marks an outlier, because some users cannot see the colour. The triangle points up
            // if the value is higher than usual, otherwise down.
            const double size = std::clamp(place.height() * 0.45, 2.5, 5.0);
            const double tip = found.deviation > 0 ? -size : size;
            const QPointF middle = place.center();
            painter.setPen(QPen(theme.plot, 1));
            painter.setBrush(theme.bad);
            painter.drawPolygon(QPolygonF{middle + QPointF(0, tip), middle + QPointF(-size, -tip * 0.7),
                                          middle + QPointF(size, -tip * 0.7)});
        }
}

void HourView::paintAxes(QPainter& painter) const {
    painter.setPen(Theme::of(this).muted);
    const QRectF area = plot();
    for (int hour = 0; hour<24; hour += area.height()> 200 ? 3 : 6) {
        const QRectF place = cell(firstDay(), hour);
        painter.drawText(QRectF(0, place.top() - 8, area.left() - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                         QStringLiteral("%1:00").arg(hour, 2, 10, QLatin1Char('0')));
    }
    double free = 0;
    for (int day = firstDay(); day < m_map.days() - m_back; ++day) {
        const QRectF place = cell(day, 23);
        if (place.left() < free) continue;
        const QString text = QLocale().toString(m_map.date(day), QStringLiteral("d MMM"));
        painter.drawText(QPointF(place.left(), area.bottom() + fontMetrics().ascent() + 3), text);
        free = place.left() + fontMetrics().horizontalAdvance(text) + 14;
    }
}

void HourView::paintScale(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const double y = fontMetrics().ascent();
    double x = plot().left();
    const auto word = [&](const QString& text) {
        painter.setPen(theme.muted);
        painter.drawText(QPointF(x, y), text);
        x += painter.fontMetrics().horizontalAdvance(text) + 8;
    };
    word(tr("%1, mean of the hour:  %2").arg(m_curve.name, m_curve.text(m_map.least())));
    for (int i = 0; i < kScale; ++i)
        painter.fillRect(QRectF(x + i, 2, 1.5, y - 2), heat(theme, double(i) / kScale));
    x += kScale + 8;
    word(m_curve.text(m_map.most()));
    x += 12;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.bad);
    painter.drawPolygon(QPolygonF{QPointF(x + 5, 3), QPointF(x, y), QPointF(x + 10, y)});
    x += 16;
    word(tr("far from the usual value of this hour"));
}

void HourView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setFont(scaled(font(), 0.85));
    painter.fillRect(plot(), theme.plot);
    if (m_map.empty()) {
        painter.setPen(theme.muted);
        painter.drawText(plot(), Qt::AlignCenter,
                         tr("The first hour appears here with the first measurement"));
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    paintCells(painter);
    paintAxes(painter);
    paintScale(painter);
    if (m_hover) paintPlateBeside(painter, plot(), m_hover->x(), describe(*m_hover));
}

QString HourView::describe(QPointF at) const {
    for (int day = firstDay(); day < m_map.days() - m_back; ++day) {
        if (at.x() < cell(day, 0).left() || at.x() >= cell(day, 0).right()) continue;
        const int hour = static_cast<int>((at.y() - plot().top()) / plot().height() * 24);
        if (hour < 0 || hour > 23 || m_map.at(day, hour).count == 0) return {};
        const HourMap::Cell& found = m_map.at(day, hour);
        QString text = tr("%1, %2:00: %3 %4, %5 readings")
                           .arg(QLocale().toString(m_map.date(day), QStringLiteral("d MMM yyyy")))
                           .arg(hour)
                           .arg(m_curve.name, m_curve.text(found.mean))
                           .arg(found.count, 0, 'f', 0);
        if (found.usual) text += tr(", usually %1").arg(m_curve.text(*found.usual));
        return text;
    }
    return {};
}

void HourView::mouseMoveEvent(QMouseEvent* event) {
    m_hover = event->position();
    update();
}

void HourView::leaveEvent(QEvent*) {
    m_hover.reset();
    update();
}

void HourView::keyPressEvent(QKeyEvent* event) {
    const int most = std::max(0, m_map.days() - 7);
    if (event->key() == Qt::Key_Left)
        m_back = std::min(most, m_back + 7);
    else if (event->key() == Qt::Key_Right)
        m_back = std::max(0, m_back - 7);
    else
        return QWidget::keyPressEvent(event);
    update();
}

}  // namespace mpm::gui
