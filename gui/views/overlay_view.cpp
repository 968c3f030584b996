#include "gui/views/overlay_view.hpp"

namespace mpm::gui {

OverlayView::OverlayView(Viewport* viewport, QWidget* parent) : ImageView(tr("Overlay"), viewport, parent) {
    setEmptyText(tr("The classes found by the network appear here"));
}

void OverlayView::setRendered(const RenderedFrame& drawn, const RenderStyle&) {
    setImage(drawn.overlay);
    setNote((m_modelNote.isEmpty() ? QString() : m_modelNote + tr(", ")) +
            tr("frame %1").arg(drawn.analysis->frame.number));
}

void OverlayView::setModelNote(const QString& note) {
    m_modelNote = note;
    setNote(note);
}

/// Drops the readings, because the live view shows them.
void OverlayView::setRegions(const std::vector<pipeline::Region>& regions,
                             const std::vector<pipeline::RegionReading>&) {
    ImageView::setRegions(regions, {});
}

}  // namespace mpm::gui
