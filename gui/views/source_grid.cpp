#include "gui/views/source_grid.hpp"

#include <algorithm>

#include "gui/models/health_model.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/image_view.hpp"

namespace mpm::gui {

SourceGrid::SourceGrid(Viewport*) {}

void SourceGrid::add(const Engine* engine) {
    auto* tile = new ImageView(QString(), &m_viewport);
    tile->setEmptyText(tr("Waiting for the first image"));
    connect(tile, &ImageView::activated, this, [this, engine] { emit chosen(engine); });
    m_tiles.emplace_back(engine, tile);
    place();
}

void SourceGrid::remove(const Engine* engine) {
    const auto found = std::find_if(m_tiles.begin(), m_tiles.end(),
                                    [engine](const auto& entry) { return entry.first == engine; });
    if (found == m_tiles.end()) return;
    ImageView* tile = found->second;
    m_tiles.erase(found);
    place();
    tile->deleteLater();
}

void SourceGrid::place() {
    std::vector<QWidget*> tiles;
    for (const auto& [engine, tile] : m_tiles)
        tiles.push_back(tile);
    setTiles(tiles);
}

ImageView* SourceGrid::tileOf(const Engine* engine) const {
    for (const auto& [owner, tile] : m_tiles)
        if (owner == engine) return tile;
    return nullptr;
}

void SourceGrid::setTile(const Engine* engine, const RenderedFrame& drawn) {
    ImageView* tile = tileOf(engine);
    if (tile == nullptr) return;
    tile->setImage(drawn.overlay);
    tile->setFooter(tr("%1 of %2 tokens, frame %3")
                        .arg(drawn.analysis->tokensKept())
                        .arg(drawn.analysis->tokensIn())
                        .arg(drawn.analysis->frame.number));
    setAspectOf(tile, double(drawn.overlay.width()) / std::max(1, drawn.overlay.height()));
}

void SourceGrid::setState(const Engine* engine, const SourceReport& report, bool paused, const Cover& cover) {
    ImageView* tile = tileOf(engine);
    if (tile == nullptr) return;
    tile->setTitle(shownTitle(report.name));
    tile->setNote(paused ? tr("paused") : sourceStateText(report));
    if (!cover.empty())
        tile->setCover(cover);
    else if (report.current() || paused)
        tile->setCover({});
    else
        tile->setCover(
            {tr("Not live: %1").arg(sourceStateText(report)), sourceProblemText(report.status.problem)});
}

void SourceGrid::clearImages() {
    for (const auto& [engine, tile] : m_tiles)
        tile->setImage({});
}

}  // namespace mpm::gui
