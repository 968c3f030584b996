#include "gui/models/region_model.hpp"

#include <algorithm>

namespace mpm::gui {

QVariant RegionModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    if (role == Qt::ToolTipRole && quantity(index))
        return tr("Click to add a lane to the timeline, or to remove it");
    if (role == Qt::TextAlignmentRole && index.column() == Tokens)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    if (index.column() == Name) return QString::fromStdString(row.reading.name);
    if (!row.any) return QStringLiteral("–");
    if (index.column() == Tokens) return tr("%1 of %2").arg(row.reading.tokens).arg(row.reading.patches);
    return row.largest;
}

std::optional<pipeline::Quantity> RegionModel::quantity(const QModelIndex& index) const {
    using Kind = pipeline::Quantity::Kind;
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    if (index.column() == Tokens) return pipeline::Quantity{Kind::RegionTokens, -1, row.reading.name};
    if (index.column() != Class || row.largestId < 0) return {};
    return pipeline::Quantity{Kind::RegionShare, row.largestId, row.reading.name};
}

QVariant RegionModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    const QString names[] = {tr("Region"), tr("Tokens"), tr("Mostly")};
    return section >= 0 && section < Columns ? names[section] : QVariant();
}

void RegionModel::setRegions(const std::vector<pipeline::Region>& regions) {
    beginResetModel();
    m_rows.clear();
    for (const pipeline::Region& region : regions) {
        m_rows.emplace_back();
        m_rows.back().reading.name = region.name;
    }
    endResetModel();
}

std::vector<std::string> RegionModel::names() const {
    std::vector<std::string> names;
    for (const Row& row : m_rows)
        names.push_back(row.reading.name);
    return names;
}

void RegionModel::setReadings(const std::vector<pipeline::RegionReading>& readings,
                              const std::vector<std::string>& labels) {
    if (m_rows.empty()) return;
    for (Row& row : m_rows)
        for (const pipeline::RegionReading& reading : readings) {
            if (reading.name != row.reading.name) continue;
            row.reading = reading;
            row.any = true;
            const auto most = std::max_element(reading.classShares.begin(), reading.classShares.end());
            row.largest.clear();
            row.largestId = -1;
            if (most == reading.classShares.end()) continue;
            const auto id = static_cast<std::size_t>(most - reading.classShares.begin());
            row.largestId = static_cast<int>(id);
            const QString name =
                id < labels.size() ? QString::fromStdString(labels[id]) : tr("class %1").arg(id);
            row.largest = tr("%1, %2 %").arg(name).arg(100 * *most, 0, 'f', 0);
        }
    emit dataChanged(index(0, 0), index(rowCount() - 1, Columns - 1), {Qt::DisplayRole});
}

}  // namespace mpm::gui
