#include "gui/panels/source_badge.hpp"

#include <QPainter>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

SourceBadge::SourceBadge(QWidget* parent) : QWidget(parent), m_text(tr("no source")) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setFont(bold(font()));
}

void SourceBadge::setState(const QString& text, HealthModel::Level level, bool paused) {
    const QString words = paused ? tr("paused") : text;
    if (words == m_text && level == m_level && paused == m_paused) return;
    m_text = words;
    m_level = level;
    m_paused = paused;
    setAccessibleName(tr("Source: %1").arg(m_text));
    updateGeometry();
    update();
}

QSize SourceBadge::sizeHint() const {
    return {fontMetrics().horizontalAdvance(m_text.toUpper()) + 38, fontMetrics().height() + 8};
}

void SourceBadge::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    const QColor colour = m_paused || m_level == HealthModel::Warning ? theme.warning
                          : m_level == HealthModel::Bad               ? theme.bad
                                                                      : theme.good;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF body = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    QColor light = colour;
    light.setAlpha(36);
    painter.setPen(QPen(colour, 1));
    painter.setBrush(light);
    painter.drawRoundedRect(body, body.height() / 2, body.height() / 2);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const QPointF mark(15, body.center().y());
    if (m_paused) {
        painter.drawRect(QRectF(mark.x() - 4, mark.y() - 4.5, 3, 9));
        painter.drawRect(QRectF(mark.x() + 1, mark.y() - 4.5, 3, 9));
    } else if (m_level == HealthModel::Good) {
        painter.drawEllipse(mark, 4.5, 4.5);
    } else {
        painter.drawPolygon(
            QPolygonF{mark + QPointF(0, -5), mark + QPointF(5.5, 4.5), mark + QPointF(-5.5, 4.5)});
    }
    painter.setPen(colour);
    painter.drawText(body.adjusted(26, 0, -10, 0), Qt::AlignLeft | Qt::AlignVCenter, m_text.toUpper());
}

}  // namespace mpm::gui
