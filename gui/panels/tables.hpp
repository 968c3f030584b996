// The small tables of the side panel.
#pragma once

#include <QListView>
#include <QStyledItemDelegate>
#include <QTableView>

#include "gui/models/health_model.hpp"
#include "gui/models/statistics_model.hpp"

namespace mpm::gui {

class StatisticsView : public QTableView {
    Q_OBJECT
public:
    explicit StatisticsView(StatisticsModel* model, QWidget* parent = nullptr);
    QSize sizeHint() const override;
};

/// A small table that is as high as its rows, up to a limit.
class RowsView : public QTableView {
    Q_OBJECT
public:
    explicit RowsView(QAbstractItemModel* model, QWidget* parent = nullptr);
    QSize sizeHint() const override;

signals:
    /// Emitted if the user chooses a row with mouse or keyboard. Qt's signal for the current row is not
    /// enough, because Qt also emits that signal if the focus changes or rows are removed.
    void rowChosen(const QModelIndex& row);

protected:
    void keyPressEvent(QKeyEvent* event) override;
};

/// Paints a name and a value. If the level is Warning or Bad, paints a mark before the value.
class HealthDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class HealthView : public QListView {
    Q_OBJECT
public:
    explicit HealthView(HealthModel* model, QWidget* parent = nullptr);
    QSize sizeHint() const override;
};

}  // namespace mpm::gui
