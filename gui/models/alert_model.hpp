// The alerts of this run as a table, newest first.
#pragma once

#include <deque>

#include <QAbstractTableModel>

#include "gui/engine/alert_notice.hpp"

namespace mpm::gui {

class AlertModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Time, What, Columns };
    static constexpr int kMost = 200;

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_notices.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    static constexpr int MomentRole = Qt::UserRole;      ///< milliseconds since 1970
    static constexpr int SourceRole = Qt::UserRole + 1;  ///< the source's address
    void add(const AlertNotice& notice);
    void clear();

private:
    std::deque<AlertNotice> m_notices;
};

}  // namespace mpm::gui
