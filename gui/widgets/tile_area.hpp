// A widget that arranges images so that they cover as much of its area as possible.
#pragma once

#include <map>
#include <vector>

#include <QWidget>

namespace mpm::gui {

class TileArea : public QWidget {
    Q_OBJECT
public:
    /// `lead`: index of the tile that may be larger than the other tiles; -1: index 0.
    void setTiles(const std::vector<QWidget*>& tiles, int lead = -1);
    /// Set the ratio of width to height, for all tiles or for one tile.
    void setAspect(double aspect);
    void setAspectOf(const QWidget* tile, double aspect);

    /// Returns the smallest rectangle that contains all images.
    QRect covered() const;

    QSize minimumSizeHint() const override { return {320, 90}; }

    /// Returns the places of `count` images, the lead first. Compares two layouts: a grid of equal images,
    /// and a large image with the other images beside it. Uses the second layout only if its images cover
    /// clearly more of `area`. `aspect`: width to height.
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
