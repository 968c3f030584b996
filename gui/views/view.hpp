// A way to look at the source in front. The row in the table of views (view_table.hpp) names the data that
// the view needs.
#pragma once

#include <vector>

#include "gui/engine/render_worker.hpp"
#include "gui/engine/saved_time.hpp"
#include "pipeline/watch/region.hpp"

class QWidget;

namespace mpm::gui {

/// Text over an image that is not live. An empty headline: no cover.
struct Cover {
    QString headline, detail;
    bool empty() const { return headline.isEmpty(); }
};

/// Why images are not current: the source does not deliver, or the network does not analyse.
struct Covers {
    Cover source, analysis;
    bool overview = false;  ///< several views are shown: the reason is given once

    const Cover& first() const { return source.empty() ? analysis : source; }
};

/// Widgets implement it in addition to QWidget. Every function has a default that ignores the data.
class View {
public:
    View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    virtual ~View() = default;

    virtual QWidget* widget() = 0;
    virtual void setFrame(const LiveFrame&) {}
    /// `style` is the present style; the frame may have been drawn in an earlier style.
    virtual void setRendered(const RenderedFrame&, const RenderStyle&) {}
    virtual void setComparison(const RenderedComparison&, const SavedTime&) {}
    virtual void setNight(const RenderedNight&) {}
    /// Text on every image that random weights made; empty for a trained model.
    virtual void setModelNote(const QString&) {}
    virtual void setRegions(const std::vector<pipeline::Region>&,
                            const std::vector<pipeline::RegionReading>&) {}
    /// Gives an analysis with the objects that are followed, if any.
    virtual void setObjects(const AnalysisPtr&) {}
    virtual void setCovers(const Covers&) {}
    virtual void clear() {}
};

}  // namespace mpm::gui
