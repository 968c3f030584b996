// A page with a table of a source's regions and masks. The user draws the shapes on the image, or types the
// corners of the shapes.
#pragma once

#include <QCheckBox>
#include <QSpinBox>
#include <QWidget>

#include "gui/services/watch_settings.hpp"

class QLayout;
class QLineEdit;
class QPushButton;
class QTableWidget;

namespace mpm::gui {

class RegionPage : public QWidget {
    Q_OBJECT
public:
    RegionPage(const SourceWatch& watch, bool keepsImages, const ThumbnailSettings& thumbnails,
               QWidget* parent = nullptr);

    const SourceWatch& watch() const { return m_watch; }
    bool keepsImages() const { return !m_measurementsOnly->isChecked(); }
    ThumbnailSettings thumbnails() const {
        return {m_thumbnails->isChecked(), m_megabytes->value(), m_days->value()};
    }
    QTableWidget* table() const { return m_table; }

signals:
    void changed();
    void renamed(const std::string& before, const std::string& now);
    void drawRegionWanted();
    void drawMaskWanted();
    void changeShapesWanted();

private:
    QLayout* makeObjects();
    QLayout* makeThumbnails(const ThumbnailSettings& thumbnails);
    void fill();
    void remove();
    void onEdited(int row, int column);

    SourceWatch m_watch;
    bool m_filling = false;
    QTableWidget* m_table;  // the regions, then the masks
    QPushButton *m_change, *m_remove;
    QCheckBox *m_measurementsOnly, *m_thumbnails;
    QLineEdit* m_objects;
    QSpinBox *m_megabytes, *m_days;
};

/// Convert a shape to text such as "0.100 0.200, 0.300 0.200, ..." and back. If the text is not a shape,
/// shapeFrom() returns an empty shape.
QString shapeText(const pipeline::Polygon& shape);
pipeline::Polygon shapeFrom(const QString& text);

}  // namespace mpm::gui
