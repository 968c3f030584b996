// Shows the newest frame, with regions and followed objects, or a stored image from the past.
#pragma once

#include "gui/views/image_view.hpp"

class QToolButton;

namespace mpm::gui {

class LiveView : public ImageView {
    Q_OBJECT
public:
    explicit LiveView(Viewport* viewport, QWidget* parent = nullptr);

    void setFrame(const LiveFrame& frame) override;
    void setObjects(const AnalysisPtr& analysis) override;
    void setCovers(const Covers& covers) override;
    void clear() override;
    /// Shows an image of the past until showNow(); new frames do not replace it. `source`: name of the
    /// source, if it is not the source in front.
    void showPast(const QImage& image, qint64 time, const QString& source = {});
    void showNow();
    /// Returns the time of the image of the past; absent if the present is shown.
    std::optional<qint64> past() const { return m_past; }
    /// Returns the milliseconds from capture to paint of the last frame shown.
    double displayMs() const { return m_displayMs; }

signals:
    /// Emitted if the user wants the previous (-1) or the next (1) stored image.
    void pastStepped(int direction);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent*) override { placeButton(); }
    void paintMarks(QPainter& painter, const QRectF& rect) override;

private:
    void placeButton();
    void showFrame(const LiveFrame& frame);

    QToolButton* m_now;  // returns to the present, or ends a change of shapes
    std::optional<qint64> m_past;
    Cover m_cover;
    pipeline::FollowedObjectsPtr m_objects;  // of the newest analysed frame
    ModelFactsPtr m_model;
    cv::Size m_size;
    Steady::time_point m_captured;
    bool m_fresh = false;  // whether the frame is not painted yet
    double m_displayMs = 0;
};

}  // namespace mpm::gui
