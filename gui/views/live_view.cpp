#include "gui/views/live_view.hpp"

namespace mpm::gui {

LiveView::LiveView(Viewport* viewport, QWidget* parent) : ImageView(tr("Image"), viewport, parent) {
    setEmptyText(tr("Waiting for the first image"));
    connect(this, &ImageView::painted, this, [this] {
        if (!std::exchange(m_fresh, false)) return;
        m_displayMs = std::chrono::duration<double, std::milli>(Steady::now() - m_captured).count();
    });
}

void LiveView::setFrame(const LiveFrame& frame) {
    m_captured = frame.captured;
    m_fresh = true;
    setImage(frame.image);
    setNote(tr("frame %1").arg(frame.number));
}

}  // namespace mpm::gui
