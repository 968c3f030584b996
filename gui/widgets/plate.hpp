// Short texts and the focus frame, painted over images and charts.
#pragma once

#include <QPainter>
#include <QWidget>

namespace mpm::gui {

/// Text on a dark plate, readable on any image. `at`: the corner of `area` for it. Returns the plate.
QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text,
                  bool bold = false);
/// Likewise at the top, beside the position `x`, on the side with more room.
void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text);

/// Around the whole widget, if the keyboard gave it the focus.
void paintFocusFrame(QPainter& painter, const QWidget& widget);

}  // namespace mpm::gui
