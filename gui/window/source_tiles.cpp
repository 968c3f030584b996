// The grid of all sources, and what the pictures in front share with it.
#include <QStackedLayout>

#include "gui/models/health_model.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/widgets/tile_area.hpp"
#include "gui/window/view_area.hpp"

namespace mpm::gui {

void ViewArea::addTile(const Engine* engine) {
    auto* tile = new PictureView(QString(), &m_gridViewport);
    tile->setEmptyText(tr("Waiting for the first picture"));
    connect(tile, &PictureView::activated, this, [this, engine] { emit tileChosen(engine); });
    m_sourceTiles.emplace_back(engine, tile);
    placeTiles();
}

void ViewArea::removeTile(const Engine* engine) {
    const auto gone = std::find_if(m_sourceTiles.begin(), m_sourceTiles.end(),
                                   [engine](const auto& entry) { return entry.first == engine; });
    if (gone == m_sourceTiles.end()) return;
    PictureView* tile = gone->second;
    m_sourceTiles.erase(gone);
    placeTiles();
    tile->deleteLater();
}

void ViewArea::placeTiles() {
    std::vector<QWidget*> tiles;
    for (const auto& [engine, tile] : m_sourceTiles)
        tiles.push_back(tile);
    m_grid->setTiles(tiles);
}

PictureView* ViewArea::tileOf(const Engine* engine) const {
    for (const auto& [owner, tile] : m_sourceTiles)
        if (owner == engine) return tile;
    return nullptr;
}

void ViewArea::setTile(const Engine* engine, const RenderedFrame& drawn) {
    PictureView* tile = tileOf(engine);
    if (tile == nullptr || m_blind) return;
    tile->setImage(drawn.overlay);
    tile->setFooter(tr("%1 of %2 tokens, frame %3")
                        .arg(drawn.analysis->tokensKept())
                        .arg(drawn.analysis->tokensIn())
                        .arg(drawn.analysis->frame.number));
    m_grid->setAspect(double(drawn.overlay.width()) / std::max(1, drawn.overlay.height()));
}

void ViewArea::setTileState(const Engine* engine, const SourceReport& report, bool paused) {
    PictureView* tile = tileOf(engine);
    if (tile == nullptr) return;
    const bool scene = report.kind == pipeline::SourceKind::Scene;
    tile->setTitle(scene ? tr("Built-in street") : report.name);
    tile->setNote(paused ? tr("paused") : sourceStateText(report));
    if (m_blind)
        tile->setVeil(m_blindHead);
    else if (report.current() || paused)
        tile->setVeil({});
    else
        tile->setVeil(tr("Not live: %1").arg(sourceStateText(report)),
                      sourceProblemText(report.status.problem));
}

void ViewArea::setRegions(const std::vector<pipeline::Region>& regions,
                          const std::vector<pipeline::RegionReading>& readings) {
    m_picture->setRegions(regions, readings);
    m_overlay->setRegions(regions, {});
}

QWidget* ViewArea::picture() const {
    return m_stack->currentWidget();
}

}  // namespace mpm::gui
