// A view of reuse: the tokens that were computed again, and why.
#pragma once

#include "gui/views/image_view.hpp"

namespace mpm::gui {

class ReuseView : public ImageView {
    Q_OBJECT
public:
    explicit ReuseView(Viewport* viewport, QWidget* parent = nullptr);

    void setRendered(const RenderedFrame& drawn, const RenderStyle& style) override;
    void setCovers(const Covers& covers) override { coverAnalysis(covers, true); }
    void clear() override;

    /// Returns why the token under a point (0 to 1) was computed or kept, and the token's age.
    QString describe(QPointF at) const;

protected:
    void paintMarks(QPainter& painter, const QRectF& rect) override;

private:
    AnalysisPtr m_analysis;
};

}  // namespace mpm::gui
