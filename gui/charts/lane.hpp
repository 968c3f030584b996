// Curves of the timeline and of the heat map: name, colour, unit, and a value for each column.
#pragma once

#include <functional>

#include <QCoreApplication>

#include "gui/models/timeline_data.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

struct Curve {
    enum class Unit { Percent, Share, Milliseconds, Frames, Objects };  ///< Share: 0..1, shown as percent

    QString name;
    Unit unit = Unit::Share;
    double leastRange = 0;            ///< least range of the axis, so that noise does not look like a change
    QColor Theme::*themed = nullptr;  ///< if not null, used instead of `colour`
    std::function<const Span&(const TimelineColumn&)> of = {};
    QColor colour = {};
    bool quantity = false;  ///< whether the curve is one of TimelineData::quantities()

    /// Returns the colour for a theme. A colour that is too similar to the background is made lighter in the
    /// dark theme, and darker in the light theme.
    QColor colourIn(const Theme& theme) const;
    QString text(double value) const;
};

/// Curves with the same axis and unit.
struct Lane {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Lane)
public:
    QString key;  ///< the name in settings
    std::vector<Curve> curves;
};

Curve tokensCurve();
/// Returns the lanes for fields of a reading. Only fields that have a mean over minutes and hours get a lane.
std::vector<Lane> fieldLanes();
/// `index`: index of the quantity in TimelineData::quantities().
Lane quantityLane(const QString& key, int index, const QString& name, const QColor& colour,
                  bool objects = false);

}  // namespace mpm::gui
