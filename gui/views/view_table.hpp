// The table of views: their order, their names, and the data that they need. A new view needs a row here.
#pragma once

#include <vector>

#include <QCoreApplication>
#include <QStringList>

#include "gui/views/view.hpp"
#include "gui/widgets/viewport.hpp"

namespace mpm::gui {

/// The translation context of the titles. The struct is in a header, so that Qt's lupdate finds it.
struct ViewTable {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::ViewTable)
};

struct ViewEntry {
    /// The data that a view needs while it is shown, and the place of the view.
    enum Flag : unsigned {
        InOverview = 1,        ///< a tile of the overview; otherwise a separate page
        HasStages = 2,         ///< shows merge maps: the control for the stage is visible
        NeedsComparison = 4,   ///< also needs a run of the frame with all tokens
        ComparesSlowly = 8,    ///< one comparison a second is enough
        NeedsNight = 16,       ///< needs the frame with night simulated
        NeedsAllSources = 32,  ///< needs images of every source, not only of the source in front
        ShowsFrame = 64,       ///< shows the frame, so that regions can be drawn on it
        ChoosesOther = 128,    ///< compares with a schedule that the user may choose
        WhileMerging = 256,    ///< in the overview while reuse is off
        WhileReusing = 512,    ///< in the overview while reuse is on, or runs beside merging
        YieldsToReuse = 1024,  ///< not in the overview while reuse runs beside merging
    };

    const char* key;     ///< name in settings and on the command line
    QString (*title)();  ///< translated
    /// Makes the view without a parent. Null for the overview, which shows the views with InOverview.
    View* (*make)(Viewport* viewport);
    unsigned flags;

    bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// Returns the views in the order of the buttons, the menu and the number keys. The overview is first.
const std::vector<ViewEntry>& viewTable();
QStringList viewKeys();

}  // namespace mpm::gui
