// Day against night as a table.
#pragma once

#include <QAbstractTableModel>

#include "pipeline/store/day_night_statistics.hpp"

namespace mpm::gui {

class StatisticsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Day, Night, Difference, Columns };
    enum Row { Kept, Merged, Luminance, Latency, Frames, Rows };

    explicit StatisticsModel(QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    void add(const pipeline::Measurement& measurement);
    void clear();
    const pipeline::DayNightStatistics& statistics() const { return m_statistics; }

private:
    QString phaseText(const pipeline::PhaseStatistics& phase, int row) const;
    QString differenceText(int row) const;

    pipeline::DayNightStatistics m_statistics;
};

}  // namespace mpm::gui
