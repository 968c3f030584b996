// A view of the frame. The classes that the network found are painted over the frame.
#pragma once

#include "gui/views/image_view.hpp"

namespace mpm::gui {

class OverlayView : public ImageView {
    Q_OBJECT
public:
    explicit OverlayView(Viewport* viewport, QWidget* parent = nullptr);

    void setRendered(const RenderedFrame& drawn, const RenderStyle& style) override;
    void setModelNote(const QString& note) override;
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings) override;
    void setCovers(const Covers& covers) override { coverAnalysis(covers, true); }

private:
    QString m_modelNote;
};

}  // namespace mpm::gui
