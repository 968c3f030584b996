#include "gui/widgets/app_icon.hpp"

#include <QPainter>
#include <QPainterPath>

namespace mpm::gui {

namespace {

struct Patch {
    QRectF area;
    QRgb colour;
};

// Merged patches in colour and single patches in grey; positions in 64ths of the icon.
const Patch kPatches[] = {{{13, 13, 18, 8}, 0xFF0B66C3}, {{35, 13, 8, 8}, 0xFF8A93A0},
                          {{13, 25, 8, 18}, 0xFF009E73}, {{25, 25, 8, 8}, 0xFF8A93A0},
                          {{37, 25, 14, 8}, 0xFFD55E00}, {{25, 37, 18, 8}, 0xFFCC79A7}};

QPixmap paintIcon(int size) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(size / 64.0, size / 64.0);
    QPainterPath card;
    card.addRoundedRect(QRectF(4, 4, 56, 56), 12, 12);
    painter.setClipPath(card);
    painter.fillRect(QRectF(4, 4, 56, 56), QColor(0xF4C95D));
    QPainterPath night(QPointF(60, 4));
    night.lineTo(60, 60);
    night.lineTo(4, 60);
    painter.fillPath(night, QColor(0x22335C));
    painter.setPen(QPen(Qt::white, 2));
    for (const Patch& patch : kPatches) {
        painter.setBrush(QColor(patch.colour));
        painter.drawRoundedRect(patch.area, 2, 2);
    }
    return pixmap;
}

}  // namespace

QIcon appIcon() {
    QIcon icon;
    for (const int size : {16, 24, 32, 48, 64, 128, 256})
        icon.addPixmap(paintIcon(size));
    return icon;
}

}  // namespace mpm::gui
