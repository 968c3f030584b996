#include "gui/widgets/level_bar.hpp"

#include <cmath>

#include <QPainter>

#include "gui/text/numbers.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr int kTrack = 12, kBelow = 4;

}  // namespace

LevelBar::LevelBar(const QString& name, QWidget* parent) : QWidget(parent) {
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void LevelBar::setThresholds(double night, double day) {
    m_night = night;
    m_day = day;
    update();
}

void LevelBar::setLevel(double level) {
    if (m_level == level) return;
    m_level = level;
    setAccessibleDescription(readable(level, 2));
    update();
}

QSize LevelBar::sizeHint() const {
    return {220, kTrack + kBelow + fontMetrics().height()};
}

void LevelBar::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF track(8, 0, width() - 16, kTrack);
    // Most levels are small, and the square root gives small levels more room.
    const auto at = [&](double level) { return track.left() + std::sqrt(level) * track.width(); };
    painter.fillRect(track, theme.plot);
    painter.fillRect(QRectF(QPointF(track.left(), track.top()), QPointF(at(m_night), track.bottom())),
                     theme.nightBand);
    painter.fillRect(QRectF(QPointF(at(m_day), track.top()), track.bottomRight()), theme.dayBand);
    painter.setPen(theme.border);
    painter.drawRect(track);
    painter.setPen(QPen(theme.muted, 1.5));
    for (const double threshold : {m_night, m_day})
        painter.drawLine(QPointF(at(threshold), track.top()), QPointF(at(threshold), track.bottom()));
    const QRectF words(0, kTrack + kBelow, width(), fontMetrics().height());
    painter.setPen(theme.text);
    if (m_level < 0) {
        painter.drawText(words, Qt::AlignCenter, tr("waiting for a frame"));
        return;
    }
    const QString phase = m_level < m_night ? tr("night") : m_level > m_day ? tr("day") : tr("between");
    painter.drawText(words, Qt::AlignCenter, tr("now %1: %2").arg(readable(m_level, 2), phase));
    painter.setBrush(theme.accent);
    painter.setPen(QPen(theme.surface, 1));
    painter.drawEllipse(QPointF(at(m_level), track.center().y()), 5, 5);
}

}  // namespace mpm::gui
