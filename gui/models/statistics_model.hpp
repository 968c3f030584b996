// A table that compares day and night.
#pragma once

#include <QAbstractTableModel>

#include "gui/engine/recorder.hpp"

namespace mpm::gui {

class StatisticsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Day, Night, Difference, Columns };
    enum Row { Kept, Merged, Luminance, Latency, Frames, Rows };

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Rows; }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    /// Drops all readings and begins a comparison for `setup`. Then setStored() adds the stored readings, and
    /// add() adds later readings.
    void begin(const pipeline::Setup& setup);
    const pipeline::Setup& setup() const { return m_setup; }
    void setStored(const StoredComparison& stored);
    /// Adds a measurement. Ignores measurements of another setup or of a later pass of a video.
    void add(const pipeline::Measurement& measurement);
    void clear() { begin({}); }
    const pipeline::DayNightStatistics& statistics() const { return m_statistics; }

private:
    QString phaseText(const pipeline::PhaseStatistics& phase, int row) const;
    QString differenceText(int row) const;

    void changed();

    pipeline::DayNightStatistics m_statistics;
    pipeline::Setup m_setup;
    std::vector<pipeline::Measurement> m_sinceBegin;  // kept until the stored readings arrive
    bool m_waiting = false;
};

}  // namespace mpm::gui
