#include "gui/widgets/tile_area.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::gui {

namespace {

constexpr int kGap = 6;
constexpr int kLeastWidth = 170;  // least width of the images beside a large image
constexpr double kClearlyMore = 1.1;

/// A grid of equal images: the number of columns and rows, and the size of an image.
struct Grid {
    int columns = 1, rows = 1;
    QSizeF tile;

    QSizeF whole() const {
        return {columns * (tile.width() + kGap) - kGap,
                rows * (tile.height() + kGap) - kGap};  // fits: floating point
    }
};

/// Returns the grid with the largest images. Accepts more columns only if the images get larger by the factor
/// `gain`.
Grid gridFor(int count, QSizeF area, double aspect, double gain) {
    Grid best;
    for (int columns = 1; columns <= count; ++columns) {
        const int rows = (count + columns - 1) / columns;
        const double width = std::min((area.width() - kGap * (columns - 1)) / columns,
                                      (area.height() - kGap * (rows - 1)) / rows * aspect);
        if (width > best.tile.width() * gain) best = {columns, rows, QSizeF(width, width / aspect)};
    }
    return best;
}

double areaOf(QSizeF size) {
    return size.width() * size.height();  // fits: floating point
}

/// Returns the upper left corner of a rectangle of `size` in the middle of `area`.
QPointF centred(QSizeF size, QSizeF area) {
    return {(area.width() - size.width()) / 2, (area.height() - size.height()) / 2};
}

void addRows(std::vector<QRect>& places, int count, const Grid& grid, QPointF from) {
    const QSize size(int(grid.tile.width()), int(grid.tile.height()));
    for (int i = 0; i < count; ++i)
        places.emplace_back(
            QPoint(int(std::ceil(from.x() +
                                 (grid.tile.width() + kGap) * (i % grid.columns))),  // fits: floating point
                   int(std::ceil(from.y() +
                                 (grid.tile.height() + kGap) * (i / grid.columns)))),  // fits: floating point
            size);
}

}  // namespace

void TileArea::setTiles(const std::vector<QWidget*>& tiles, int lead) {
    for (QWidget* old : m_tiles)
        old->hide();
    m_tiles = tiles;
    m_lead = std::max(0, lead);
    for (auto at = m_aspects.begin(); at != m_aspects.end();)
        at = std::find(tiles.begin(), tiles.end(), at->first) == tiles.end() ? m_aspects.erase(at)
                                                                             : std::next(at);
    for (QWidget* tile : m_tiles) {
        tile->setParent(this);
        tile->show();
    }
    place();
}

void TileArea::setAspect(double aspect) {
    if (aspect <= 0 || aspect == m_aspect) return;
    m_aspect = aspect;
    place();
}

void TileArea::setAspectOf(const QWidget* tile, double aspect) {
    if (aspect <= 0 || aspectOf(tile) == aspect) return;
    m_aspects[tile] = aspect;
    place();
}

double TileArea::aspectOf(const QWidget* tile) const {
    const auto found = m_aspects.find(tile);
    return found == m_aspects.end() ? m_aspect : found->second;
}

std::vector<QRect> TileArea::layOut(int count, QSize area, double aspect) {
    std::vector<QRect> places;
    const Grid equal = gridFor(count, area, aspect, 1.01);
    const QSizeF large = QSizeF(aspect, 1).scaled(area, Qt::KeepAspectRatio);
    const bool wide = double(area.width()) / area.height() > aspect;
    const QSizeF left = wide ? QSizeF(area.width() - large.width() - kGap, area.height())
                             : QSizeF(area.width(), area.height() - large.height() - kGap);
    const Grid beside = count > 2 ? gridFor(count - 1, left, aspect, 1.1) : Grid();
    const double covered = areaOf(large) + (count - 1) * areaOf(beside.tile);
    if (beside.tile.width() < kLeastWidth || covered < kClearlyMore * count * areaOf(equal.tile)) {
        addRows(places, count, equal, centred(equal.whole(), area));
        return places;
    }
    const QSizeF rest = beside.whole();
    const QPointF at = wide ? centred({large.width() + kGap + rest.width(), large.height()}, area)
                            : centred({large.width(), large.height() + kGap + rest.height()}, area);
    places.emplace_back(at.toPoint(), large.toSize());
    const QPointF from = wide ? QPointF(at.x() + large.width() + kGap, centred(rest, left).y())
                              : QPointF(centred(rest, left).x(), at.y() + large.height() + kGap);
    addRows(places, count - 1, beside, from);
    return places;
}

QRect TileArea::covered() const {
    QRect all;
    for (const QWidget* tile : m_tiles)
        all |= tile->geometry();
    return all;
}

void TileArea::place() {
    const int count = static_cast<int>(m_tiles.size());
    if (count == 0 || size().isEmpty()) return;
    double aspect = 0;
    for (const QWidget* tile : m_tiles)
        aspect += aspectOf(tile) / count;
    std::vector<QRect> places = layOut(count, size(), aspect);
    // layOut() returns the place of a large image at index 0, but the image at index m_lead gets this place.
    // In a grid of equal images, the order remains.
    if (places.front().size() != places.back().size())
        std::rotate(places.begin(), places.begin() + 1, places.begin() + m_lead + 1);
    for (int i = 0; i < count; ++i) {
        const QRect& cell = places[static_cast<std::size_t>(i)];
        const QSizeF fitted = QSizeF(aspectOf(m_tiles[i]), 1).scaled(cell.size(), Qt::KeepAspectRatio);
        QRect rect(QPoint(), fitted.toSize());
        rect.moveCenter(cell.center());
        m_tiles[i]->setGeometry(m_aspects.empty() ? cell : rect);
    }
}

}  // namespace mpm::gui
