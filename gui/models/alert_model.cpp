#include "gui/models/alert_model.hpp"

#include "gui/text/plain_text.hpp"

namespace mpm::gui {

QVariant AlertModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const AlertNotice& notice = m_notices[static_cast<std::size_t>(index.row())];
    if (role == Qt::ToolTipRole || role == Qt::AccessibleTextRole) {
        const QString whole =
            tr("%1, %2: %3 (%4)")
                .arg(notice.time.toString(Qt::ISODate), notice.rule, notice.text, notice.source);
        return role == Qt::ToolTipRole ? plainToolTip(whole) : whole;
    }
    if (role == MomentRole) return notice.time.toMSecsSinceEpoch();
    if (role == SourceRole) return notice.key;
    if (role != Qt::DisplayRole) return {};
    const bool today = notice.time.date() == QDate::currentDate();
    if (index.column() == Time)
        return notice.time.toString(today ? QStringLiteral("HH:mm:ss") : QStringLiteral("d MMM HH:mm"));
    return notice.rule + QStringLiteral(": ") + notice.text;
}

QVariant AlertModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == Time ? tr("Time") : tr("Alert");
}

void AlertModel::add(const AlertNotice& notice) {
    if (rowCount() == kMost) {
        beginRemoveRows({}, kMost - 1, kMost - 1);
        m_notices.pop_back();
        endRemoveRows();
    }
    beginInsertRows({}, 0, 0);
    m_notices.push_front(notice);
    endInsertRows();
}

void AlertModel::clear() {
    beginResetModel();
    m_notices.clear();
    endResetModel();
}

}  // namespace mpm::gui
