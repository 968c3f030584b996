#include "gui/models/schedule_model.hpp"

namespace mpm::gui {

int ScheduleModel::tokensBefore(int block) const {
    return block >= 0 && block < static_cast<int>(m_tokens.size()) ? m_tokens[block] : 0;
}

QVariant ScheduleModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const int block = index.row();
    switch (role) {
        case Qt::DisplayRole:
            return QString::number(block);
        case Qt::CheckStateRole:
            return m_merges[block] ? Qt::Checked : Qt::Unchecked;
        case Qt::ToolTipRole:
        case Qt::AccessibleDescriptionRole:
            return m_merges[block]
                       ? tr("Tokens merge before block %1; %2 go on").arg(block).arg(tokensBefore(block))
                       : tr("%2 tokens pass block %1").arg(block).arg(tokensBefore(block));
        case TokensRole:
            return tokensBefore(block);
        case TokensInRole:
            return tokensIn();
        default:
            return {};
    }
}

bool ScheduleModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
    const bool merges = value.toInt() == Qt::Checked;
    if (m_merges[index.row()] == merges) return true;
    m_merges[index.row()] = merges;
    emit dataChanged(index, index, {Qt::CheckStateRole, Qt::ToolTipRole, Qt::AccessibleDescriptionRole});
    emit scheduleChanged(schedule());
    return true;
}

Qt::ItemFlags ScheduleModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable | Qt::ItemNeverHasChildren;
}

void ScheduleModel::setBlocks(int blocks) {
    if (blocks == rowCount()) return;
    const std::vector<int> before = schedule();
    beginResetModel();
    m_merges.resize(std::max(0, blocks), false);
    m_tokens.clear();
    endResetModel();
    if (schedule() != before) emit scheduleChanged(schedule());
}

void ScheduleModel::setSchedule(const std::vector<int>& wanted) {
    const std::vector<int> before = schedule();
    m_merges.assign(m_merges.size(), false);
    for (int block : wanted)
        if (block >= 0 && block < rowCount()) m_merges[block] = true;
    if (schedule() == before) return;
    emit dataChanged(index(0), index(rowCount() - 1), {Qt::CheckStateRole});
    emit scheduleChanged(schedule());
}

void ScheduleModel::setTokens(const std::vector<int>& tokens) {
    if (tokens == m_tokens || m_merges.empty()) return;
    m_tokens = tokens;
    m_tokens.resize(m_merges.size(), 0);
    emit dataChanged(index(0), index(rowCount() - 1), {TokensRole, TokensInRole});
}

std::vector<int> ScheduleModel::schedule() const {
    std::vector<int> blocks;
    for (int block = 0; block < rowCount(); ++block)
        if (m_merges[block]) blocks.push_back(block);
    return blocks;
}

}  // namespace mpm::gui
