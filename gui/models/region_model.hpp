// The newest readings of each region of the image, as a table.
#pragma once

#include <QAbstractTableModel>

#include "pipeline/store/reading.hpp"

namespace mpm::gui {

class RegionModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Tokens, Class, Columns };

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

    void setRegions(const std::vector<pipeline::Region>& regions);
    std::vector<std::string> names() const;
    /// Ignores readings of regions that were removed.
    void setReadings(const std::vector<pipeline::RegionReading>& readings,
                     const std::vector<std::string>& labels);

    /// Returns the quantity of a cell: the region's tokens, or the share of its largest class; absent for the
    /// name.
    std::optional<pipeline::Quantity> quantity(const QModelIndex& index) const;

private:
    struct Row {
        pipeline::RegionReading reading;
        int largestId = -1;
        QString largest;  ///< class with the largest share, and the share
        bool any = false;
    };
    std::vector<Row> m_rows;
};

}  // namespace mpm::gui
