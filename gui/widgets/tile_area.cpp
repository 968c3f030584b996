#include "gui/widgets/tile_area.hpp"

#include <algorithm>

namespace mpm::gui {

namespace {
constexpr int kGap = 6;
}

TileArea::TileArea(QWidget* parent) : QWidget(parent) {}

void TileArea::setTiles(const std::vector<QWidget*>& tiles) {
    for (QWidget* old : m_tiles)
        old->hide();
    m_tiles = tiles;
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

int TileArea::columnsFor(int count, QSizeF area, double aspect) {
    int best = 1;
    double bestHeight = 0;
    for (int columns = 1; columns <= count; ++columns) {
        const int rows = (count + columns - 1) / columns;
        const double height = std::min(area.width() / columns / aspect, area.height() / rows);
        if (height > bestHeight * 1.02) bestHeight = height, best = columns;
    }
    return best;
}

void TileArea::resizeEvent(QResizeEvent*) {
    place();
}

void TileArea::place() {
    const int count = static_cast<int>(m_tiles.size());
    if (count == 0) return;
    const int columns = columnsFor(count, size(), m_aspect);
    const int rows = (count + columns - 1) / columns;
    const auto edge = [](int index, int cells, int length) { return index * (length + kGap) / cells; };
    for (int i = 0; i < count; ++i) {
        const int x = edge(i % columns, columns, width()), y = edge(i / columns, rows, height());
        m_tiles[i]->setGeometry(x, y, edge(i % columns + 1, columns, width()) - kGap - x,
                                edge(i / columns + 1, rows, height()) - kGap - y);
    }
}

}  // namespace mpm::gui
