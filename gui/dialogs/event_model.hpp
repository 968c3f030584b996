// A table model of the events in the store, newest first, and a filter for this table.
#pragma once

#include <functional>

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "gui/services/recordings.hpp"

namespace mpm::gui {

class EventModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Image, Time, Source, Rule, Value, Play, Columns };
    enum Role { MomentRole = Qt::UserRole, IdRole, FileRole, SourceRole };

    /// `image`: returns the image file of a moment, or an empty string. `title`: returns the name of a
    /// source. `rules`: names of the current rules.
    using FindImage = std::function<QString(const QString& source, qint64 time)>;
    using Title = std::function<QString(const QString& source)>;
    EventModel(FindImage image, Title title, const QStringList& rules);

    void setEvents(const std::vector<pipeline::StoredEvent>& events,
                   const std::vector<Recording>& recordings);

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    /// Returns the different values of a column in the order of the rows; for Time, the dates.
    QStringList valuesOf(Column column) const;

    static constexpr int kImageHeight = 48;

private:
    struct Row {
        std::int64_t id;
        qint64 time;
        QString source, rule, value, file;
    };
    QVariant textOf(const Row& row, int column) const;
    QVariant iconOf(const Row& row) const;

    const FindImage m_image;
    const Title m_title;
    const QStringList m_rules;
    std::vector<Row> m_rows;
};

/// Shows only rows with the wanted text in each column; an empty string accepts every row.
class EventFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    void setWanted(EventModel::Column column, const QString& text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    std::map<int, QString> m_wanted;
};

}  // namespace mpm::gui
