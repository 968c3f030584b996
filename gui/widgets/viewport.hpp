// The state that linked views share: zoom, centre and position of the pointer.
#pragma once

#include <optional>

#include <QObject>
#include <QPointF>

namespace mpm::gui {

class Viewport : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    double zoom() const { return m_zoom; }       ///< 1: the whole image
    QPointF centre() const { return m_centre; }  ///< of the visible part, 0..1 across and down
    std::optional<QPointF> cursor() const { return m_cursor; }

    /// Zooms by `factor`, while the point `anchor` (0 to 1) remains in its place.
    void zoomAt(double factor, QPointF anchor);
    void moveBy(QPointF distance) { place(m_zoom, m_centre + distance); }
    void reset() { place(1, {0.5, 0.5}); }
    void setCursor(std::optional<QPointF> cursor);

    static constexpr double kMostZoom = 40;

signals:
    void changed();
    void cursorChanged();

private:
    void place(double zoom, QPointF centre);

    double m_zoom = 1;
    QPointF m_centre{0.5, 0.5};
    std::optional<QPointF> m_cursor;
};

}  // namespace mpm::gui
