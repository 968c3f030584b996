#include "gui/panels/tables.hpp"

#include <QHeaderView>
#include <QPainter>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

/// Makes a table look like text in a panel: as high as its rows, as wide as the panel, not scrolled sideways.
void makePlain(QTableView& table) {
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setWordWrap(false);
    table.setFont(scaled(table.font(), 0.92));
    table.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + 6);
    table.setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize sizeFor(const QTableView& table, int rows) {
    return {240, table.horizontalHeader()->sizeHint().height() +
                     table.verticalHeader()->defaultSectionSize() * rows + 2};
}

}  // namespace

StatisticsView::StatisticsView(StatisticsModel* model, QWidget* parent) : QTableView(parent) {
    setModel(model);
    makePlain(*this);
    setSelectionMode(QAbstractItemView::NoSelection);
    setFocusPolicy(Qt::NoFocus);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setSectionResizeMode(StatisticsModel::Difference, QHeaderView::Stretch);
    horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    horizontalHeader()->setSectionsClickable(false);
    verticalHeader()->setSectionsClickable(false);
    verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    setCornerButtonEnabled(false);
    setAccessibleName(tr("Day against night"));
}

QSize StatisticsView::sizeHint() const {
    return sizeFor(*this, model()->rowCount());
}

RowsView::RowsView(QAbstractItemModel* model, QWidget* parent) : QTableView(parent) {
    setModel(model);
    makePlain(*this);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    horizontalHeader()->setStretchLastSection(true);
    horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    verticalHeader()->hide();
    connect(model, &QAbstractItemModel::rowsInserted, this, &QWidget::updateGeometry);
    connect(model, &QAbstractItemModel::modelReset, this, &QWidget::updateGeometry);
    connect(this, &QAbstractItemView::clicked, this, &RowsView::rowChosen);
}

void RowsView::keyPressEvent(QKeyEvent* event) {
    const QModelIndex before = currentIndex();
    QTableView::keyPressEvent(event);
    if (currentIndex().isValid() && currentIndex() != before) emit rowChosen(currentIndex());
}

QSize RowsView::sizeHint() const {
    return sizeFor(*this, std::clamp(model()->rowCount(), 1, 6));
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
