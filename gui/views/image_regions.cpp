// ImageView: regions on an image.
#include <algorithm>

#include <QPainter>

#include "gui/views/image_view.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

/// Returns the area for the text of a region. If the region is narrow, the area is wider than the region, but
/// inside the view.
QRectF roomForText(const QRectF& region, const QString& words, const QFont& font, const QRectF& view) {
    const double wanted = QFontMetricsF(font).horizontalAdvance(words) + 26;
    if (region.width() >= wanted) return region;
    const double width = std::min(wanted, view.width());
    const double left = std::clamp(region.center().x() - width / 2, view.left(), view.right() - width);
    return {left, region.top(), width, region.height()};
}

}  // namespace

QPolygonF onScreen(const pipeline::Polygon& outline, const QRectF& whole) {
    QPolygonF polygon;
    for (const cv::Point2d& corner : outline)
        polygon << QPointF(whole.x() + corner.x * whole.width(), whole.y() + corner.y * whole.height());
    return polygon;
}

void drawLine(QPainter& painter, const QPolygonF& polygon, bool closed, const QColor& colour) {
    for (const auto& [pen, width] : {std::pair(QColor(0, 0, 0, 170), 4.0), std::pair(colour, 2.0)}) {
        painter.setPen(QPen(pen, width));
        closed ? painter.drawPolygon(polygon) : painter.drawPolyline(polygon);
    }
}

void ImageView::setRegions(const std::vector<pipeline::Region>& regions,
                           const std::vector<pipeline::RegionReading>& readings) {
    if (regions.empty() && m_regions.empty()) return;
    m_regions = regions;
    m_readings = readings;
    update();
}

void ImageView::paintRegions(QPainter& painter, const QRectF& whole) const {
    painter.save();
    painter.setBrush(Qt::NoBrush);
    painter.setFont(scaled(font(), 0.82));
    for (const pipeline::Region& region : m_regions) {
        const QPolygonF polygon = onScreen(region.outline, whole);
        drawLine(painter, polygon, true, QColor(255, 214, 90));
        QString words = QString::fromStdString(region.name);
        for (const pipeline::RegionReading& reading : m_readings)
            if (reading.name == region.name)
                words = tr("%1: %2 of %3 tokens").arg(words).arg(reading.tokens).arg(reading.patches);
        const QRectF box = polygon.boundingRect().intersected(QRectF(rect()));
        if (box.width() < 8 || box.height() < 18) continue;
        const QRectF room = roomForText(box, words, painter.font(), QRectF(rect()));
        paintPlate(painter, room, Qt::AlignHCenter | Qt::AlignVCenter, words);
    }
    painter.restore();
}

}  // namespace mpm::gui
