#include "gui/models/legend_model.hpp"

#include "gui/text/numbers.hpp"

#include <algorithm>

#include <QColor>

namespace mpm::gui {

QVariant LegendModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Class& entry = m_classes[index.row()];
    const QColor colour(entry.colour[0], entry.colour[1], entry.colour[2]);
    if (role == ColourRole) return colour;
    if (role == ShareRole) return std::max(0.0, entry.share);
    if (index.column() == Share) {
        if (role == Qt::DisplayRole && entry.share < 0) return QStringLiteral("–");
        if (role == Qt::ToolTipRole) return tr("Click to add a lane to the timeline, or to remove it");
        if (role == Qt::DisplayRole) return tr("%1 %").arg(readable(100 * entry.share, 1));
        if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
        return {};
    }
    if (role == Qt::DisplayRole || role == Qt::EditRole) return entry.name;
    if (role == Qt::DecorationRole) return colour;
    if (role == Qt::ToolTipRole) return tr("Double-click to change the colour, press F2 to rename");
    if (role == Qt::CheckStateRole) return entry.shown ? Qt::Checked : Qt::Unchecked;
    return {};
}

bool LegendModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
    Class& entry = m_classes[index.row()];
    if (role == Qt::EditRole && index.column() == Name) {
        emit renameWanted(index.row(), value.toString().trimmed());
        return true;
    }
    if (role == Qt::CheckStateRole && index.column() == Name) {
        entry.shown = value.toInt() == Qt::Checked;
    } else if (role == ColourRole && value.value<QColor>().isValid()) {
        const QColor colour = value.value<QColor>();
        entry.colour = {uchar(colour.red()), uchar(colour.green()), uchar(colour.blue())};
    } else {
        return false;
    }
    emit dataChanged(this->index(index.row(), 0), this->index(index.row(), Columns - 1));
    emit styleChanged();
    return true;
}

QVariant LegendModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == Name ? tr("Class") : tr("Share");
}

Qt::ItemFlags LegendModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) return Qt::NoItemFlags;
    const Qt::ItemFlags common = Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
    return index.column() == Name ? common | Qt::ItemIsUserCheckable | Qt::ItemIsEditable : common;
}

void LegendModel::setNames(const std::vector<std::string>& names) {
    const std::size_t count = std::min(names.size(), m_classes.size());
    if (count == 0) return;
    for (std::size_t id = 0; id < count; ++id)
        m_classes[id].name = QString::fromStdString(names[id]);
    emit dataChanged(index(0, Name), index(static_cast<int>(count) - 1, Name), {Qt::DisplayRole});
}

void LegendModel::setClasses(const std::vector<std::string>& names, const pipeline::Palette& palette) {
    const pipeline::Palette colours = pipeline::paletteOf(palette, names, static_cast<int>(names.size()));
    beginResetModel();
    m_classes.clear();
    for (size_t id = 0; id < names.size(); ++id)
        m_classes.push_back({QString::fromStdString(names[id]), colours[id], kUnknown, true});
    endResetModel();
    emit styleChanged();
}

void LegendModel::grow(int count) {
    if (count <= rowCount()) return;
    const pipeline::Palette colours = pipeline::defaultPalette(count);
    beginInsertRows({}, rowCount(), count - 1);
    for (int id = rowCount(); id < count; ++id)
        m_classes.push_back({tr("class %1").arg(id), colours[id], kUnknown, true});
    endInsertRows();
    emit styleChanged();
}

void LegendModel::setShares(const std::vector<double>& shares) {
    grow(static_cast<int>(shares.size()));
    if (m_classes.empty()) return;
    for (size_t id = 0; id < m_classes.size(); ++id)
        m_classes[id].share = shares.empty() ? kUnknown : id < shares.size() ? shares[id] : 0;
    emit dataChanged(index(0, Share), index(rowCount() - 1, Share), {Qt::DisplayRole, ShareRole});
}

void LegendModel::setHidden(const std::vector<bool>& hidden) {
    if (m_classes.empty()) return;
    for (size_t id = 0; id < m_classes.size(); ++id)
        m_classes[id].shown = id >= hidden.size() || !hidden[id];
    emit dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::CheckStateRole});
    emit styleChanged();
}

std::vector<bool> LegendModel::hidden() const {
    std::vector<bool> hidden;
    for (const Class& entry : m_classes)
        hidden.push_back(!entry.shown);
    return hidden;
}

pipeline::Palette LegendModel::palette() const {
    pipeline::Palette colours;
    for (const Class& entry : m_classes)
        colours.push_back(entry.colour);
    return colours;
}

QString LegendModel::name(int id) const {
    return id >= 0 && id < rowCount() ? m_classes[id].name : tr("class %1").arg(id);
}

}  // namespace mpm::gui
