// The encoder's blocks side by side, each with the number of tokens that enter the block, and a switch for
// merging before the block.
#pragma once

#include <QListView>
#include <QStyledItemDelegate>
#include <QWidget>

#include <mpm/mpm.hpp>

#include "gui/models/schedule_model.hpp"

class QButtonGroup;
class QLabel;

namespace mpm::gui {

/// Paints, from top to bottom, a bar for the tokens, a switch and the number of the block.
class BlockDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                     const QModelIndex& index) override;
};

/// A list that divides its whole width among the blocks.
class BlockList : public QListView {
    Q_OBJECT
public:
    explicit BlockList(QWidget* parent = nullptr);
    QSize cell() const;

protected:
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
};

class ScheduleView : public QWidget {
    Q_OBJECT
public:
    explicit ScheduleView(ScheduleModel* model, QWidget* parent = nullptr);

    /// Marks the preset that equals the schedule in the model file.
    void setOwnSchedule(const std::vector<int>& schedule);
    /// Shows the state of reuse. While reuse is on, tokens merge by the schedule only if reuse is suspended
    /// because too many tokens change.
    void setReuse(ReuseState state);
    BlockList* list() const { return m_list; }

private:
    void addPreset(const QString& text, const QString& tip, const std::vector<int>& schedule);
    void showState();
    QString summary() const;

    ScheduleModel* m_model;
    BlockList* m_list;
    QButtonGroup* m_presets;
    QLabel* m_summary;
    std::vector<std::vector<int>> m_schedules;
    ReuseState m_reuse = ReuseState::Off;
};

/// Returns a schedule as text, such as "none" or "2, 5".
QString scheduleText(const std::vector<int>& schedule);

}  // namespace mpm::gui
