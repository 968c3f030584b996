// A table of the objects that are present: class and identity, place, time of arrival.
#pragma once

#include <QAbstractTableModel>

#include "gui/engine/analysis.hpp"

namespace mpm::gui {

class ObjectModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Since, Where, Columns };
    static constexpr int MomentRole = Qt::UserRole;  ///< the object's arrival, in milliseconds since 1970
    static constexpr std::size_t kMost = 200;        ///< limit of rows, because nobody reads more

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    void setObjects(const AnalysisPtr& analysis);
    void clear();

private:
    struct Row {
        std::int64_t id;
        QString name, where;
        qint64 since;
    };
    std::vector<Row> m_rows;
};

}  // namespace mpm::gui
