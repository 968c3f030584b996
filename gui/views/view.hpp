// The interface of a view, which shows the source in front (gui/window/front_source.hpp). A row of the table
// in view_table.hpp names the data that the view needs.
#pragma once

#include <vector>

#include "gui/engine/render_worker.hpp"
#include "gui/engine/saved_time.hpp"
#include "pipeline/watch/region.hpp"

class QWidget;

namespace mpm::gui {

/// Text over an image that is not live. If the headline is empty, there is no cover.
struct Cover {
    QString headline, detail;
    bool empty() const { return headline.isEmpty(); }
};

/// The reasons why images are not current: the source delivers none, or the network analyses none.
struct Covers {
    Cover source, analysis;
    bool overview = false;  ///< whether several views are shown; not all of them repeat the reason

    const Cover& first() const { return source.empty() ? analysis : source; }
};

/// A view is a class that derives from QWidget and from View. By default, every function ignores the data.
class View {
public:
    View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    virtual ~View() = default;

    virtual QWidget* widget() = 0;
    virtual void setFrame(const LiveFrame&) {}
    /// `style`: the style in use; the frame may have been drawn in an earlier style.
    virtual void setRendered(const RenderedFrame&, const RenderStyle&) {}
    virtual void setComparison(const RenderedComparison&, const SavedTime&) {}
    virtual void setNight(const RenderedNight&) {}
    /// Sets a note on a model with random weights or without classes; empty for other models.
    virtual void setModelNote(const QString&) {}
    virtual void setRegions(const std::vector<pipeline::Region>&,
                            const std::vector<pipeline::RegionReading>&) {}
    /// The analysis contains the objects that are followed, if any.
    virtual void setObjects(const AnalysisPtr&) {}
    virtual void setCovers(const Covers&) {}
    virtual void clear() {}
};

}  // namespace mpm::gui
