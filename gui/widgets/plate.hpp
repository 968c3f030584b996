// Short texts and the focus frame, painted over images and charts.
#pragma once

#include <QPainter>
#include <QWidget>

namespace mpm::gui {

/// Paints text on a dark plate, readable on any image. `at`: its corner of `area`. Returns the plate.
QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text,
                  bool bold = false);
/// Paints a plate at the top, next to the position `x`, on the side with more room.
void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text);

/// Paints a frame around the whole widget, if the keyboard gave it the focus.
void paintFocusFrame(QPainter& painter, const QWidget& widget);

}  // namespace mpm::gui
