// The classes of a model as a table: colour, name, share of the image, visibility.
#pragma once

#include <string>
#include <vector>

#include <QAbstractTableModel>

#include "pipeline/draw/palette.hpp"

namespace mpm::gui {

class LegendModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Share, Columns };
    enum Role { ShareRole = Qt::UserRole, ColourRole };

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_classes.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : Columns; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    void setNames(const std::vector<std::string>& names);
    void setClasses(const std::vector<std::string>& names, const pipeline::Palette& palette);
    /// If there are more shares than classes, adds classes with numbers as names. `shares`: empty if no pixel
    /// is visible.
    void setShares(const std::vector<double>& shares);
    void setHidden(const std::vector<bool>& hidden);
    void showAll(bool shown) { setHidden(std::vector<bool>(m_classes.size(), !shown)); }

    std::vector<bool> hidden() const;
    pipeline::Palette palette() const;
    QString name(int id) const;

signals:
    /// Emitted if a colour or the visibility of a class changes, but not if shares change.
    void styleChanged();
    /// Emitted if the user types a name for a class; empty: the class gets the model's name again.
    void renameWanted(int id, const QString& name);

private:
    static constexpr double kUnknown = -1;  ///< no pixel was visible
    struct Class {
        QString name;
        cv::Vec3b colour;
        double share = kUnknown;
        bool shown = true;
    };
    void grow(int count);

    std::vector<Class> m_classes;
};

}  // namespace mpm::gui
