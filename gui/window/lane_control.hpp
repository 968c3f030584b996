// Controls the lanes of the timeline. The user chooses lanes in the menu, the legend or the table of regions.
// The store delivers the readings day by day. Settings contain names of classes and regions, not ids, so
// that a lane remains if the model or the source changes.
#pragma once

#include <QMenu>

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class LaneControl : public QObject {
    Q_OBJECT
public:
    LaneControl(const Parts& parts, FrontSource* front);

    void toggle(const pipeline::Quantity& quantity) { toggle(keyOf(quantity)); }
    /// Must be called after the classes or the regions change.
    void apply();
    QMenu* menu() { return &m_menu; }

    static constexpr std::size_t kMost = 6;

signals:
    void messagePosted(const QString& text, bool trouble = false);

private:
    void toggle(const QString& key);
    void fillMenu();
    void addQuantities(QMenu* menu, pipeline::Quantity::Kind kind, const std::string& region);
    void followNames();
    QString keyOf(const pipeline::Quantity& quantity) const;
    std::optional<pipeline::Quantity> quantityOf(const QString& key) const;
    void reload();
    void load(const pipeline::Quantity& quantity, qint64 before, int days);

    const Parts m_parts;
    FrontSource* m_front;
    QMenu m_menu;
};

}  // namespace mpm::gui
