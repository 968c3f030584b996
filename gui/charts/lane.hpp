// Curves of the timeline and of the hours: a number for each column, with name, colour and unit.
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
    double leastRange = 0;  ///< of the axis, in units of the column: noise must not look like a change
    QColor Theme::*themed = nullptr;  ///< null: `colour`
    std::function<const Span&(const TimelineColumn&)> of = {};
    QColor colour = {};
    bool quantity = false;  ///< one of TimelineData::quantities()

    /// The colour for a theme: a dark colour on a dark ground is lightened, and a light colour on a light
    /// ground darkened, until it is visible.
    QColor colourIn(const Theme& theme) const;
    /// A value with its unit.
    QString text(double value) const;
};

/// Curves on the same axis, of the same unit.
struct Lane {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Lane)
public:
    QString key;  ///< in settings
    std::vector<Curve> curves;
};

Curve tokensCurve();
/// Lanes of the fields that have a mean over minutes and hours.
std::vector<Lane> fieldLanes();
/// `index`: in TimelineData::quantities().
Lane quantityLane(const QString& key, int index, const QString& name, const QColor& colour,
                  bool objects = false);

}  // namespace mpm::gui
