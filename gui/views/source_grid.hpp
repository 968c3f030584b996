// A grid with a tile for each source. Each tile shows the source's newest overlay.
#pragma once

#include <utility>
#include <vector>

#include "gui/engine/engine.hpp"
#include "gui/views/view.hpp"
#include "gui/widgets/tile_area.hpp"
#include "gui/widgets/viewport.hpp"

namespace mpm::gui {

class ImageView;

class SourceGrid : public TileArea, public View {
    Q_OBJECT
public:
    /// Ignores `viewport`. The tiles share `m_viewport`, so they do not zoom with the other views.
    explicit SourceGrid(Viewport* viewport);

    void add(const Engine* engine);
    void remove(const Engine* engine);
    /// Returns null if the engine has no tile.
    ImageView* tileOf(const Engine* engine) const;
    void setTile(const Engine* engine, const RenderedFrame& drawn);
    /// Shows `cover` instead of a cover for the state in the report, unless `cover` is empty.
    void setState(const Engine* engine, const SourceReport& report, bool paused, const Cover& cover);

    QWidget* widget() override { return this; }
    void clearImages();

signals:
    void chosen(const mpm::gui::Engine* engine);

private:
    void place();

    Viewport m_viewport;
    std::vector<std::pair<const Engine*, ImageView*>> m_tiles;
};

}  // namespace mpm::gui
