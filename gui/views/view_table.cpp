#include "gui/views/view_table.hpp"

#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/reuse_view.hpp"
#include "gui/views/source_grid.hpp"
#include "gui/views/split_view.hpp"

namespace mpm::gui {

namespace {

template <typename T>
View* make(Viewport* viewport) {
    return new T(viewport);
}

}  // namespace

const std::vector<ViewEntry>& viewTable() {
    using E = ViewEntry;
    static const std::vector<ViewEntry> table = {
        {"overview", [] { return ViewTable::tr("Overview"); }, nullptr,
         E::HasStages | E::NeedsComparison | E::ComparesSlowly | E::ShowsFrame},
        {"picture", [] { return ViewTable::tr("Image"); }, make<LiveView>, E::InOverview | E::ShowsFrame},
        {"overlay", [] { return ViewTable::tr("Overlay"); }, make<OverlayView>,
         E::InOverview | E::YieldsToReuse},
        {"merge", [] { return ViewTable::tr("Merge map"); }, make<MergeView>,
         E::InOverview | E::HasStages | E::WhileMerging},
        {"split", [] { return ViewTable::tr("Split"); }, make<SplitView>,
         E::InOverview | E::NeedsComparison | E::ChoosesOther},
        {"night", [] { return ViewTable::tr("Night"); }, make<NightView>, E::HasStages | E::NeedsNight},
        {"sources", [] { return ViewTable::tr("Sources"); }, make<SourceGrid>, E::NeedsAllSources},
        {"reuse", [] { return ViewTable::tr("Reuse"); }, make<ReuseView>, E::InOverview | E::WhileReusing},
    };
    return table;
}

QStringList viewKeys() {
    QStringList keys;
    for (const ViewEntry& entry : viewTable())
        keys << QLatin1String(entry.key);
    return keys;
}

}  // namespace mpm::gui
