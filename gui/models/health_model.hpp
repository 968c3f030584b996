// The health of the monitor as a table: times of the processing steps, dropped frames, states of the source
// and the store.
#pragma once

#include <array>

#include <QAbstractListModel>

#include "gui/engine/analysis.hpp"
#include "gui/models/processor.hpp"
#include "pipeline/store/store.hpp"

namespace mpm::gui {

class HealthModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Row {
        Source,
        Age,
        Capture,
        Queue,
        Prepare,
        Network,
        Merge,
        Labels,
        Draw,
        Display,
        Rate,
        DroppedRow,
        Device,
        ProcessorRow,
        Model,
        StoreRow,
        Rows
    };
    enum Role { ValueRole = Qt::UserRole, LevelRole };
    enum Level { Good, Warning, Bad };

    HealthModel();

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Rows; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

    /// Must be called if another source is shown. Clears all rows except device, processor, model and store.
    void clear();
    void setSource(const SourceReport& report);
    void setAnalysis(const pipeline::Measurement& measurement, const Analysis& analysis);
    void setDraw(double drawMs, double displayMs);
    void setModel(const QString& text, Level level) { set(Model, text, level); }
    void setStore(const QString& text, Level level) { set(StoreRow, text, level); }
    /// Sets how many frames a second are analysed and captured.
    void setRates(double analysed, double captured);
    /// Shows the age of the newest frame. Must be called once a second.
    void updateAge();
    /// Shows temperature and throttling, if the system reports them. Must be called once a second.
    void updateProcessor();

private:
    struct Entry {
        QString text;
        Level level = Good;
    };
    void set(Row row, const QString& text, Level level = Good);
    void setTime(Row row, double ms);

    std::array<Entry, Rows> m_entries;
    SourceReport m_report;
    std::int64_t m_skipped = 0;
    Processor m_processor;
};

/// Returns a short text such as "live" or "stalled since 14:03:10".
QString sourceStateText(const SourceReport& report);
HealthModel::Level sourceLevel(const SourceReport& report);

}  // namespace mpm::gui
