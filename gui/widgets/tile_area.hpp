// Arranges images so that they are as large as the space allows.
#pragma once

#include <vector>

#include <QWidget>

namespace mpm::gui {

class TileArea : public QWidget {
    Q_OBJECT
public:
    explicit TileArea(QWidget* parent = nullptr);

    void setTiles(const std::vector<QWidget*>& tiles);
    /// Width over height of the images.
    void setAspect(double aspect);

    QSize minimumSizeHint() const override { return {320, 90}; }

    /// Columns that make images of `aspect` largest when `count` of them share `area`.
    static int columnsFor(int count, QSizeF area, double aspect);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void place();

    std::vector<QWidget*> m_tiles;
    double m_aspect = 4.0 / 3;
};

}  // namespace mpm::gui
