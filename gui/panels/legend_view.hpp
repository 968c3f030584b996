// The legend as a table. A check mark shows a class; after a double click on the name of a class, the user
// can choose another colour.
#pragma once

#include <QHash>
#include <QIcon>
#include <QStyledItemDelegate>
#include <QTreeView>

#include "gui/models/legend_model.hpp"

namespace mpm::gui {

/// Keeps an icon for each colour. Otherwise, Qt would make a new icon at each painting and keep all these
/// icons (ten megabytes).
class NameDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

private:
    mutable QHash<QRgb, QIcon> m_icons;
};

/// Paints a share as a number on a bar of the class's colour.
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
    /// The user wants to add a lane for this class to the timeline, or to remove this lane.
    void laneWanted(int id);

private:
    void chooseColour(const QModelIndex& index);
};

}  // namespace mpm::gui
