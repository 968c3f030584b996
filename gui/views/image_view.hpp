// One picture, zoomed and moved together with the others, with a few words on it.
#pragma once

#include <functional>

#include <QImage>
#include <QPointer>
#include <QWidget>

#include "gui/widgets/viewport.hpp"
#include "pipeline/watch/region.hpp"

namespace mpm::gui {

class PictureView : public QWidget {
    Q_OBJECT
public:
    explicit PictureView(const QString& title, Viewport* viewport, QWidget* parent = nullptr);

    void setTitle(const QString& title);
    void setImage(const QImage& image);
    const QImage& image() const { return m_image; }
    /// Beside the title; empty: none.
    void setNote(const QString& note);
    const QString& note() const { return m_note; }
    /// Along the lower edge; empty: none.
    void setFooter(const QString& footer);
    const QString& footer() const { return m_footer; }
    /// Covers the picture so that nobody takes it for live. An empty headline uncovers it.
    void setVeil(const QString& headline, const QString& detail = {});
    const QString& veil() const { return m_headline; }
    /// Outlined on the picture, with what each holds where that is known.
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings);
    /// Lets somebody click the corners of a shape; `then` gets it when they are done, not when they give up.
    void drawShape(std::function<void(const pipeline::Polygon&)> then);
    bool drawing() const { return static_cast<bool>(m_shapeDone); }
    /// Shown where there is no picture yet.
    void setEmptyText(const QString& text);

    QSize sizeHint() const override { return {480, 360}; }
    QSize minimumSizeHint() const override { return {120, 90}; }

signals:
    void activated();  ///< double click: somebody wants to see this one large
    void painted();

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

    /// Where the whole picture lies, partly outside the widget when zoomed.
    QRectF pictureRect() const;
    QPointF toPicture(QPointF position) const;
    bool zoomed() const { return m_viewport->zoom() > 1; }
    Viewport* viewport() const { return m_viewport; }

    virtual void paintPicture(QPainter& painter, const QRectF& rect);
    /// Over the picture, under the words.
    virtual void paintMarks(QPainter& painter, const QRectF& rect);

private:
    void paintRegions(QPainter& painter, const QRectF& rect) const;
    void paintShape(QPainter& painter, const QRectF& rect) const;
    void endShape(bool done);
    void paintCursor(QPainter& painter, const QRectF& rect);
    /// What of the footer is said where there is so much room.
    virtual QString footerFor(double) const { return m_footer; }
    void paintWords(QPainter& painter, const QRectF& visible);
    void paintVeil(QPainter& painter, const QRectF& visible);

    QString m_title;
    Viewport* m_viewport;
    QImage m_image;
    QString m_note, m_footer, m_headline, m_detail, m_emptyText;
    std::optional<QPointF> m_dragFrom;
    std::vector<pipeline::Region> m_regions;
    std::vector<pipeline::RegionReading> m_readings;
    pipeline::Polygon m_shape;  // being drawn
    std::function<void(const pipeline::Polygon&)> m_shapeDone;
};

/// Words on a dark plate, readable on any picture. `at`: the corner of `area` they stand in. Returns the
/// plate.
QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text,
                  bool bold = false);
/// Likewise at the top, beside a place across, on the side where there is more room.
void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text);

}  // namespace mpm::gui
