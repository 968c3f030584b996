// The table of views: their order, names, and the data that each view needs. A new view is a new row here.
#pragma once

#include <vector>

#include <QCoreApplication>
#include <QStringList>

#include "gui/views/view.hpp"
#include "gui/widgets/viewport.hpp"

namespace mpm::gui {

/// The context of the translations, in a header because lupdate finds no other.
struct ViewTable {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::ViewTable)
};

struct ViewEntry {
    /// The data that a view needs while it is shown, and the view's place.
    enum Flag : unsigned {
        InOverview = 1,        ///< a tile of the overview; otherwise a separate page
        HasStages = 2,         ///< shows merge maps: the control for the stage is visible
        NeedsComparison = 4,   ///< the frame with all tokens too
        ComparesSlowly = 8,    ///< once a second is enough
        NeedsNight = 16,       ///< the frame with night simulated
        NeedsAllSources = 32,  ///< images of every source, not only of the source in front
        ShowsFrame = 64,       ///< shows the frame itself: regions may be drawn on it
        ChoosesOther = 128,    ///< another schedule may be on the left side
        WhileMerging = 256,    ///< in the overview unless reuse is on
        WhileReusing = 512,    ///< in the overview while reuse is on, or runs beside
        YieldsToReuse = 1024,  ///< not in the overview while reuse runs beside: the split shows it, too
    };

    const char* key;     ///< in settings and on the command line
    QString (*title)();  ///< translated
    /// The widget belongs to the parent. Null: the overview, which shows the views marked InOverview.
    View* (*make)(Viewport* viewport);
    unsigned flags;

    bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// The views in the order of the buttons, the menu and the number keys. The overview comes first.
const std::vector<ViewEntry>& viewTable();
QStringList viewKeys();

}  // namespace mpm::gui
