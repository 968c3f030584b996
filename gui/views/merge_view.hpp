// A view of the patches that were merged. The view shows the cluster and the class of the patch under the
// pointer.
#pragma once

#include <vector>

#include "gui/engine/render_worker.hpp"
#include "gui/views/image_view.hpp"

namespace mpm::gui {

class MergeView : public ImageView {
    Q_OBJECT
public:
    explicit MergeView(Viewport* viewport, QWidget* parent = nullptr);

    void setRendered(const RenderedFrame& drawn, const RenderStyle& style) override;
    void setRegions(const std::vector<pipeline::Region>&,
                    const std::vector<pipeline::RegionReading>&) override {}
    void setCovers(const Covers& covers) override { coverAnalysis(covers, false); }
    void clear() override;

    /// Returns the class and the cluster of the patch under a point (0 to 1); empty outside the image.
    QString describe(QPointF at) const;
    /// Returns the indices of the patches in the cluster under a point.
    std::vector<int> clusterAt(QPointF at) const;

protected:
    void paintImage(QPainter& painter, const QRectF& rect) override;
    void paintMarks(QPainter& painter, const QRectF& rect) override;

private:
    void paintOutlines(QPainter& painter, const QRectF& whole) const;
    void paintMasks(QPainter& painter, const QRectF& whole) const;
    QString classAt(QPointF at) const;
    int patchAt(QPointF at) const;
    QRectF patchRect(int patch, const QRectF& whole) const;

    AnalysisPtr m_analysis;
    cv::Mat m_map;  // CV_32S 1xN: the merge map of the stage shown
    std::vector<int> m_sizes;
    pipeline::Palette m_colours;  // by cluster
    pipeline::MergeMapStyle m_style;
};

}  // namespace mpm::gui
