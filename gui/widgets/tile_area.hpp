// Arranges images so that they cover as much of the space as possible.
#pragma once

#include <map>
#include <vector>

#include <QWidget>

namespace mpm::gui {

class TileArea : public QWidget {
    Q_OBJECT
public:
    /// `lead`: the tile that may be larger than the others; -1: the first.
    void setTiles(const std::vector<QWidget*>& tiles, int lead = -1);
    /// Sets width over height of the images, of all tiles or of one tile.
    void setAspect(double aspect);
    void setAspectOf(const QWidget* tile, double aspect);

    /// The smallest rectangle with all images.
    QRect covered() const;

    QSize minimumSizeHint() const override { return {320, 90}; }

    /// Places of `count` images of `aspect`, the lead first: equal images in a grid, or a large image with
    /// the others next to it if that covers clearly more.
    static std::vector<QRect> layOut(int count, QSize area, double aspect);

protected:
    void resizeEvent(QResizeEvent*) override { place(); }

private:
    double aspectOf(const QWidget* tile) const;
    void place();

    std::vector<QWidget*> m_tiles;
    int m_lead = 0;
    double m_aspect = 4.0 / 3;
    std::map<const QWidget*, double> m_aspects;
};

}  // namespace mpm::gui
