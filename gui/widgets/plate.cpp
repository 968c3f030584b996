#include "gui/widgets/plate.hpp"

#include <algorithm>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text, bool bold) {
    if (text.isEmpty()) return {};
    painter.save();
    QFont font = painter.font();
    font.setBold(bold);
    painter.setFont(font);
    const QFontMetricsF metrics(font);
    const double most = area.width() - 12;
    const QString fitted = metrics.elidedText(text, Qt::ElideRight, std::max(10.0, most - 12));
    if (fitted.size() < 2 && fitted != text) {  // an ellipsis alone is useless
        painter.restore();
        return {};
    }
    const QSizeF size(metrics.horizontalAdvance(fitted) + 12, metrics.height() + 4);
    const double x = at & Qt::AlignRight     ? area.right() - size.width() - 6
                     : at & Qt::AlignHCenter ? area.center().x() - size.width() / 2
                                             : area.left() + 6;
    const double y = at & Qt::AlignBottom    ? area.bottom() - size.height() - 6
                     : at & Qt::AlignVCenter ? area.center().y() - size.height() / 2
                                             : area.top() + 6;
    const QRectF plate(QPointF(x, y), size);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(10, 14, 20, 190));
    painter.drawRoundedRect(plate, 4, 4);
    painter.setPen(QColor(240, 244, 250));
    painter.drawText(plate, Qt::AlignCenter, fitted);
    painter.restore();
    return plate;
}

void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text) {
    const bool left = x > area.center().x();
    const QRectF side = left ? QRectF(area.topLeft(), QPointF(x, area.bottom()))
                             : QRectF(QPointF(x, area.top()), area.bottomRight());
    paintPlate(painter, side, (left ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop, text);
}

void paintFocusFrame(QPainter& painter, const QWidget& widget) {
    if (!widget.hasFocus() || !widget.window()->testAttribute(Qt::WA_KeyboardFocusChange)) return;
    painter.save();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Theme::of(&widget).accent, 2));
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(1, 1, -1, -1), 5, 5);
    painter.restore();
}

}  // namespace mpm::gui
