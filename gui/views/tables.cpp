#include "gui/views/tables.hpp"

#include <QHeaderView>
#include <QPainter>

#include "gui/views/theme.hpp"

namespace mpm::gui {

StatisticsView::StatisticsView(StatisticsModel* model, QWidget* parent) : QTableView(parent) {
    setModel(model);
    setFrameShape(QFrame::NoFrame);
    setShowGrid(false);
    setWordWrap(false);
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.92);
    setFont(small);
    setSelectionMode(QAbstractItemView::NoSelection);
    setFocusPolicy(Qt::NoFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    horizontalHeader()->setSectionsClickable(false);
    verticalHeader()->setSectionsClickable(false);
    verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    setCornerButtonEnabled(false);
    setAccessibleName(tr("Day against night"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize StatisticsView::sizeHint() const {
    return {240, horizontalHeader()->sizeHint().height() +
                     verticalHeader()->defaultSectionSize() * model()->rowCount() + 2};
}

RowsView::RowsView(QAbstractItemModel* model, QWidget* parent) : QTableView(parent) {
    setModel(model);
    setFrameShape(QFrame::NoFrame);
    setShowGrid(false);
    setWordWrap(false);
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.92);
    setFont(small);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    horizontalHeader()->setStretchLastSection(true);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(model, &QAbstractItemModel::rowsInserted, this, &QWidget::updateGeometry);
    connect(model, &QAbstractItemModel::modelReset, this, &QWidget::updateGeometry);
}

QSize RowsView::sizeHint() const {
    return {240, horizontalHeader()->sizeHint().height() +
                     verticalHeader()->defaultSectionSize() * std::clamp(model()->rowCount(), 1, 6) + 2};
}

void HealthDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
    const Theme& theme = Theme::of(option.widget);
    const QRectF cell = QRectF(option.rect).adjusted(2, 0, -2, 0);
    const QString name = index.data().toString();
    const int level = index.data(HealthModel::LevelRole).toInt();
    const QColor colour = level == HealthModel::Bad       ? theme.bad
                          : level == HealthModel::Warning ? theme.warning
                                                          : theme.text;
    const double left = option.fontMetrics.horizontalAdvance(name) + 14;
    QString value = index.data(HealthModel::ValueRole).toString();
    if (level != HealthModel::Good)
        value.prepend(level == HealthModel::Bad ? QStringLiteral("✕ ") : QStringLiteral("! "));
    painter->save();
    painter->setPen(theme.muted);
    painter->drawText(cell, Qt::AlignLeft | Qt::AlignVCenter, name);
    painter->setPen(colour);
    painter->drawText(cell, Qt::AlignRight | Qt::AlignVCenter,
                      option.fontMetrics.elidedText(value, Qt::ElideMiddle, int(cell.width() - left)));
    painter->restore();
}

QSize HealthDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    return {200, option.fontMetrics.height() + 5};
}

HealthView::HealthView(HealthModel* model, QWidget* parent) : QListView(parent) {
    setModel(model);
    setItemDelegate(new HealthDelegate(this));
    setFrameShape(QFrame::NoFrame);
    setSelectionMode(QAbstractItemView::NoSelection);
    setUniformItemSizes(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Health of the monitor"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize HealthView::sizeHint() const {
    return {240, model()->rowCount() * (fontMetrics().height() + 5) + 4};
}

}  // namespace mpm::gui
