// The present readings of each region of the image.
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
    /// Readings of regions that are not there any more are left out.
    void setReadings(const std::vector<pipeline::RegionReading>& readings,
                     const std::vector<std::string>& labels);

    /// Of a cell: the region's tokens, or the share of the class with the largest; of its name none.
    std::optional<pipeline::Quantity> quantity(const QModelIndex& index) const;

private:
    struct Row {
        pipeline::RegionReading reading;
        int largestId = -1;
        QString largest;  ///< class with the largest share, and that
        bool any = false;
    };
    std::vector<Row> m_rows;
};

}  // namespace mpm::gui
