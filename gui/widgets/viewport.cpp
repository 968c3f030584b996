#include "gui/widgets/viewport.hpp"

#include <algorithm>

namespace mpm::gui {

void Viewport::zoomAt(double factor, QPointF anchor) {
    const double zoom = std::clamp(m_zoom * factor, 1.0, kMostZoom);
    place(zoom, anchor + (m_centre - anchor) * (m_zoom / zoom));
}

void Viewport::place(double zoom, QPointF centre) {
    const double margin = 0.5 / zoom;
    const QPointF inside(std::clamp(centre.x(), margin, 1 - margin),
                         std::clamp(centre.y(), margin, 1 - margin));
    if (zoom == m_zoom && inside == m_centre) return;
    m_zoom = zoom;
    m_centre = inside;
    emit changed();
}

void Viewport::setCursor(std::optional<QPointF> cursor) {
    if (cursor == m_cursor) return;
    m_cursor = cursor;
    emit cursorChanged();
}

}  // namespace mpm::gui
