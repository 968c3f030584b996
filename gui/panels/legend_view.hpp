// The legend as a table. A check box shows or hides a class. A double click opens a dialog for the colour.
#pragma once

#include <QHash>
#include <QIcon>
#include <QStyledItemDelegate>
#include <QTreeView>

#include "gui/models/legend_model.hpp"

namespace mpm::gui {

/// Keeps an icon for each colour. Otherwise, Qt would make a new icon at each repaint and keep all icons
/// (ten megabytes).
class NameDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

private:
    mutable QHash<QRgb, QIcon> m_icons;
};

/// Paints a share as a bar in the class's colour, with the number to the right of the bar.
class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
};

class LegendView : public QTreeView {
    Q_OBJECT
public:
    explicit LegendView(LegendModel* model, QWidget* parent = nullptr);
    QSize sizeHint() const override;

signals:
    /// Emitted if the user wants to add the lane of a class to the timeline, or to remove the lane.
    void laneWanted(int id);

private:
    void chooseColour(const QModelIndex& index);
};

}  // namespace mpm::gui
