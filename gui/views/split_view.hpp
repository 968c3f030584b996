// Compares two runs of a frame: all tokens (or another schedule) left of a slider, merging (or reuse) right.
#pragma once

#include "gui/engine/render_worker.hpp"
#include "gui/views/image_view.hpp"

namespace mpm::gui {

class SplitView : public ImageView {
    Q_OBJECT
public:
    explicit SplitView(Viewport* viewport, QWidget* parent = nullptr);

    void setRendered(const RenderedFrame& drawn, const RenderStyle& style) override;
    void setComparison(const RenderedComparison& drawn, const SavedTime& saved) override;
    void setModelNote(const QString& note) override { setNote(note); }
    void setRegions(const std::vector<pipeline::Region>&,
                    const std::vector<pipeline::RegionReading>&) override {}
    void setCovers(const Covers& covers) override { coverAnalysis(covers, false); }
    /// Sets the schedule on the left; empty: all tokens.
    void setOther(const std::vector<int>& schedule);
    void clear() override;
    double position() const { return m_position; }  ///< of the slider, from 0 (left) to 1 (right)
    void setPosition(double position);

protected:
    void paintImage(QPainter& painter, const QRectF& rect) override;
    void paintMarks(QPainter& painter, const QRectF& rect) override;
    QString footerFor(double width) const override { return fitting(m_feet, width); }
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Shows { AllTokens, Merged, Reuse };  // shown on the right side

    /// Returns the range of the slider: the part of the view that the image covers.
    QRectF track() const { return imageRect().intersected(QRectF(rect())); }
    QString fitting(const QStringList& words, double width) const;
    QString title() const;
    static QStringList feet(const Comparison& comparison, const SavedTime& saved);
    static QStringList sideTexts(int tokens, double ms);
    double sliderX() const { return track().left() + m_position * track().width(); }
    bool onSlider(double x) const { return std::abs(x - sliderX()) < 12; }

    QImage m_whole;
    QStringList m_left, m_right;  // variants of a text, from the longest to the shortest
    QStringList m_feet;
    double m_position = 0.5;
    bool m_sliding = false;
    Shows m_shows = Shows::Merged;
    std::vector<int> m_other;  // the schedule on the left
    Conditions m_of;           // conditions of the comparison shown
    std::optional<Conditions> m_now;
    SavedTime m_times;  // times of the comparisons with m_other
};

}  // namespace mpm::gui
