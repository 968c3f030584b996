// The frame as the camera delivers it, with the regions.
#pragma once

#include "gui/views/image_view.hpp"

namespace mpm::gui {

class LiveView : public ImageView {
    Q_OBJECT
public:
    explicit LiveView(Viewport* viewport, QWidget* parent = nullptr);

    void setFrame(const LiveFrame& frame) override;
    void setCovers(const Covers& covers) override { setCover(covers.source); }
    /// Milliseconds from capture to paint, of the last frame shown.
    double displayMs() const { return m_displayMs; }

private:
    Steady::time_point m_captured;
    bool m_fresh = false;  // not painted yet
    double m_displayMs = 0;
};

}  // namespace mpm::gui
