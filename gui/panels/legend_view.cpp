#include "gui/panels/legend_view.hpp"

#include <QColorDialog>
#include <QHeaderView>
#include <QPainter>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

void NameDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
    QStyledItemDelegate::initStyleOption(option, index);
    const QColor colour = index.data(LegendModel::ColourRole).value<QColor>();
    QIcon& icon = m_icons[colour.rgb()];
    if (icon.isNull()) {
        QPixmap plain(option->decorationSize);
        plain.fill(colour);
        icon = QIcon(plain);
    }
    option->icon = icon;
}

void ShareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    const Theme& theme = Theme::of(option.widget);
    const QRectF cell = QRectF(option.rect).adjusted(6, 3, -2, -3);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const double share = index.data(LegendModel::ShareRole).toDouble();
    const double number = option.fontMetrics.horizontalAdvance(QStringLiteral("100.0 %")) + 6;
    const QRectF track(cell.left(), cell.center().y() - 4, std::max(0.0, cell.width() - number), 8);
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme.raised);
    painter->drawRoundedRect(track, 2, 2);
    painter->setBrush(index.data(LegendModel::ColourRole).value<QColor>());
    painter->drawRoundedRect(QRectF(track.topLeft(), QSizeF(track.width() * share, track.height())), 2, 2);
    painter->setPen(theme.text);
    painter->drawText(cell, Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
    painter->restore();
}

LegendView::LegendView(LegendModel* model, QWidget* parent) : QTreeView(parent) {
    setModel(model);
    setRootIsDecorated(false);
    setUniformRowHeights(true);
    setHeaderHidden(true);
    setFrameShape(QFrame::NoFrame);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setEditTriggers(QAbstractItemView::EditKeyPressed);
    setItemDelegateForColumn(LegendModel::Name, new NameDelegate(this));
    setItemDelegateForColumn(LegendModel::Share, new ShareDelegate(this));
    header()->setStretchLastSection(true);
    header()->setSectionResizeMode(LegendModel::Name, QHeaderView::ResizeToContents);
    setAccessibleName(tr("Classes and their share of the image"));
    connect(this, &QTreeView::doubleClicked, this, &LegendView::chooseColour);
    connect(this, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == LegendModel::Share) emit laneWanted(index.row());
    });
    connect(model, &QAbstractItemModel::modelReset, this, &QWidget::updateGeometry);
    connect(model, &QAbstractItemModel::rowsInserted, this, &QWidget::updateGeometry);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize LegendView::sizeHint() const {
    const int row = sizeHintForRow(0) > 0 ? sizeHintForRow(0) : fontMetrics().height() + 4;
    return {220, row * std::clamp(model()->rowCount(), 2, 12) + 4};
}

void LegendView::chooseColour(const QModelIndex& index) {
    const QColor before = index.data(LegendModel::ColourRole).value<QColor>();
    const QModelIndex name = index.siblingAtColumn(LegendModel::Name);
    auto* dialog = new QColorDialog(before, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Colour of %1").arg(name.data().toString()));
    const QPersistentModelIndex target(name);
    connect(dialog, &QColorDialog::colorSelected, this, [this, target](const QColor& colour) {
        if (target.isValid()) model()->setData(target, colour, LegendModel::ColourRole);
    });
    dialog->open();  // not exec(), so that frames continue
}

}  // namespace mpm::gui
