#include "gui/models/object_model.hpp"

#include <algorithm>

#include <QDateTime>

#include "gui/text/plain_text.hpp"
#include "pipeline/draw/boxes.hpp"

namespace mpm::gui {

namespace {

QString stateText(const pipeline::TrackedObject& object) {
    if (!object.seen) return ObjectModel::tr("hidden");
    switch (object.state) {
        case pipeline::ObjectState::Arrived:
            return ObjectModel::tr("arrived");
        case pipeline::ObjectState::Stays:
            return ObjectModel::tr("stays");
        default:
            return ObjectModel::tr("moves");
    }
}

}  // namespace

QVariant ObjectModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    const QDateTime since = QDateTime::fromMSecsSinceEpoch(row.since);
    if (role == MomentRole) return row.since;
    if (role == Qt::ToolTipRole)
        return plainToolTip(tr("%1 since %2: %3").arg(row.name, since.toString(Qt::ISODate), row.where));
    if (role != Qt::DisplayRole) return {};
    if (index.column() == Name) return row.name;
    if (index.column() == Where) return row.where;
    const bool today = since.date() == QDate::currentDate();
    return since.toString(today ? QStringLiteral("HH:mm:ss") : QStringLiteral("d MMM HH:mm"));
}

QVariant ObjectModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    const QString names[] = {tr("Object"), tr("Since"), tr("Where")};
    return section >= 0 && section < Columns ? names[section] : QVariant();
}

/// The rows are in the order of the identities, so the newest object is in the last row.
void ObjectModel::setObjects(const AnalysisPtr& analysis) {
    std::vector<Row> rows;
    static const std::vector<pipeline::TrackedObject> none;
    for (const pipeline::TrackedObject& one : analysis->objects ? analysis->objects->objects : none) {
        if (one.state == pipeline::ObjectState::Left) continue;
        QStringList where;
        for (const auto& [region, seconds] : one.stays)
            if (!region.empty()) where << QString::fromStdString(region);
        where << stateText(one);
        const QString name = QString::fromStdString(pipeline::className(analysis->model->labels, one.label));
        rows.push_back({one.id, QStringLiteral("%1 #%2").arg(name).arg(one.id),
                        where.join(QStringLiteral(", ")), static_cast<qint64>(one.since * 1000)});
    }
    if (rows.size() > kMost) rows.erase(rows.begin(), rows.end() - std::ptrdiff_t{kMost});
    const bool same =
        rows.size() == m_rows.size() && std::equal(rows.begin(), rows.end(), m_rows.begin(),
                                                   [](const Row& a, const Row& b) { return a.id == b.id; });
    if (!same) beginResetModel();
    m_rows = std::move(rows);
    if (!same)
        endResetModel();
    else if (!m_rows.empty())
        emit dataChanged(index(0, 0), index(rowCount() - 1, Columns - 1), {Qt::DisplayRole});
}

void ObjectModel::clear() {
    if (m_rows.empty()) return;
    beginResetModel();
    m_rows.clear();
    endResetModel();
}

}  // namespace mpm::gui
