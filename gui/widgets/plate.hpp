// Paints short text and the focus frame over images and charts.
#pragma once

#include <QPainter>
#include <QWidget>

namespace mpm::gui {

/// Paints text on a dark plate, readable on any image, at the place `at` in `area`. Returns the plate.
QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text,
                  bool bold = false);
/// Paints a plate at the top, beside the position `x`, on the side with more room.
void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text);

/// Paints a frame around the whole widget if it has the focus and the user moved the focus with the keyboard.
void paintFocusFrame(QPainter& painter, const QWidget& widget);

}  // namespace mpm::gui
