#include "gui/models/statistics_model.hpp"

#include "gui/text/numbers.hpp"

namespace mpm::gui {

using pipeline::PhaseStatistics;
using pipeline::RunningMean;

namespace {

const QString kNothing = QStringLiteral("–");
constexpr std::size_t kMostFramesWaiting = 20'000;

/// The members that the first rows show; the row below them shows the number of frames.
constexpr RunningMean PhaseStatistics::*kMembers[] = {&PhaseStatistics::kept, &PhaseStatistics::merged,
                                                      &PhaseStatistics::luminance, &PhaseStatistics::latency};

QString signedNumber(double value, int digits) {
    return (value < 0 ? QStringLiteral("−") : QStringLiteral("+")) + readable(std::abs(value), digits);
}

}  // namespace

QString StatisticsModel::phaseText(const PhaseStatistics& phase, int row) const {
    if (row == Frames) return QString::number(phase.kept.count());
    if (phase.kept.count() == 0) return kNothing;
    const RunningMean& values = phase.*kMembers[row];
    if (row == Luminance) return readable(values.mean(), 2);
    if (values.count() == 1) return readable(values.mean(), 0);  // a single reading has no spread
    return tr("%1 ± %2").arg(values.mean(), 0, 'f', 0).arg(values.deviation(), 0, 'f', 0);
}

QString StatisticsModel::differenceText(int row) const {
    const int changes = m_statistics.flips();
    if (row == Frames) return changes == 1 ? tr("1 change") : tr("%1 changes").arg(changes);
    if (!m_statistics.complete()) return kNothing;
    const auto difference = m_statistics.difference(kMembers[row]);
    const int digits = difference.spread < 10 ? 1 : 0;  // the panel is narrow, and more digits would be noise
    return tr("%1 ± %2")
        .arg(signedNumber(difference.percent, digits))
        .arg(readable(difference.spread, digits));
}

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && index.column() == Difference && index.row() != Frames)
        return tr("Night against day, in percent of the day's mean; single frames spread by %1 %")
            .arg(readable(m_statistics.difference(kMembers[index.row()]).spread, 1));
    if (role != Qt::DisplayRole) return {};
    if (index.column() == Difference) return differenceText(index.row());
    return phaseText(index.column() == Day ? m_statistics.day() : m_statistics.night(), index.row());
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole) return {};
    if (orientation == Qt::Horizontal) {
        const QString columns[] = {tr("Day"), tr("Night"), tr("Change, %")};
        return section >= 0 && section < Columns ? columns[section] : QVariant();
    }
    const bool reuse = m_setup.method == "reuse";
    const QString rows[] = {reuse ? tr("Computed") : tr("Tokens kept"),
                            reuse ? tr("Reused") : tr("Merged away"), tr("Luminance"), tr("Network, ms"),
                            tr("Frames")};
    return section >= 0 && section < Rows ? rows[section] : QVariant();
}

void StatisticsModel::changed() {
    emit dataChanged(index(0, 0), index(Rows - 1, Columns - 1), {Qt::DisplayRole});
}

void StatisticsModel::begin(const pipeline::Setup& setup) {
    m_statistics = {};
    m_setup = setup;
    m_sinceBegin.clear();
    m_waiting = true;
    emit headerDataChanged(Qt::Vertical, Kept, Merged);
    changed();
}

void StatisticsModel::setStored(const StoredComparison& stored) {
    if (!m_waiting || !(stored.setup == m_setup)) return;
    m_waiting = false;
    m_statistics = stored.statistics;
    for (const pipeline::Measurement& measurement : m_sinceBegin)
        if (measurement.time > stored.upTo) m_statistics.add(measurement);
    m_sinceBegin.clear();
    changed();
}

void StatisticsModel::add(const pipeline::Measurement& measurement) {
    if (!(measurement.setup == m_setup) || measurement.pass > 0) return;
    m_statistics.add(measurement);
    if (m_waiting) m_sinceBegin.push_back(measurement);
    if (m_sinceBegin.size() > kMostFramesWaiting) {  // the store gave no answer: uses only new readings
        m_sinceBegin.clear();
        m_waiting = false;
    }
    changed();
}

}  // namespace mpm::gui
