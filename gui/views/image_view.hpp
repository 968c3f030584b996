// The base of most views: an image with short texts, which is zoomed and moved together with the images of
// other views.
#pragma once

#include <functional>

#include <QImage>
#include <QWidget>

#include "gui/views/view.hpp"
#include "gui/widgets/plate.hpp"
#include "gui/widgets/viewport.hpp"

namespace mpm::gui {

class ImageView : public QWidget, public View {
    Q_OBJECT
public:
    explicit ImageView(const QString& title, Viewport* viewport, QWidget* parent = nullptr);

    void setTitle(const QString& title);
    void setImage(const QImage& image);
    const QImage& image() const { return m_image; }
    /// Sets the text next to the title; empty: none.
    void setNote(const QString& note);
    const QString& note() const { return m_note; }
    /// Sets the text along the lower edge; empty: none.
    void setFooter(const QString& footer);
    const QString& footer() const { return m_footer; }
    void setCover(const Cover& cover);
    /// Returns the headline of the cover; empty if there is no cover.
    const QString& cover() const { return m_cover.headline; }
    /// Outlines regions on the image, with the readings of each region if they are known.
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings) override;
    /// Lets the user click the corners of a shape. `then` receives the complete shape; if the user cancels,
    /// `then` is not called.
    void drawShape(std::function<void(const pipeline::Polygon&)> then);
    bool drawing() const { return static_cast<bool>(m_shapeDone); }
    /// Lets the user move, add and remove corners of shapes by mouse or keys. `then` receives the changed
    /// shapes at the end; if the user cancels, `then` is not called.
    using Shapes = std::vector<pipeline::Region>;
    void changeShapes(const Shapes& shapes, std::function<void(const Shapes&)> then);
    bool changing() const { return m_changing.has_value(); }
    /// Ends drawing or changing. `keep`: whether `then` gets the result.
    void endShapes(bool keep);
    /// Sets the text that is shown while there is no image.
    void setEmptyText(const QString& text);

    QWidget* widget() override { return this; }
    void clear() override;

    QSize sizeHint() const override { return {480, 360}; }
    QSize minimumSizeHint() const override { return {120, 90}; }

signals:
    void activated();  ///< by a double click: show the image large, or small again
    void painted();
    void shapesChanging(bool changing);

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool focusNextPrevChild(bool next) override;

    /// Returns the rectangle of the whole image, which is partly outside the widget when zoomed.
    QRectF imageRect() const;
    QPointF toImagePosition(QPointF position) const;
    Viewport* viewport() const { return m_viewport; }

    /// Covers the image if the image is not current. In the overview, the cover gives the reason only if
    /// `explains` is true and the source delivers images. If there is neither a reason nor an image,
    /// there is no cover.
    void coverAnalysis(const Covers& covers, bool explains);

    virtual void paintImage(QPainter& painter, const QRectF& rect);
    /// Paints over the image, under the texts.
    virtual void paintMarks(QPainter& painter, const QRectF& rect);

private:
    void paintRegions(QPainter& painter, const QRectF& rect) const;
    void paintShape(QPainter& painter, const QRectF& rect) const;
    void paintCorners(QPainter& painter, const QRectF& rect) const;
    void paintHints(QPainter& painter, const QStringList& hints) const;
    bool pressShape(const QPointF& position);
    bool moveShape(const QPointF& position);
    bool changeByKey(const QKeyEvent& event);
    void addCorner(std::size_t shape, std::size_t before, const QPointF& at);
    void stepCorner(int step);
    void tellCorner();
    void paintCursor(QPainter& painter, const QRectF& rect);
    /// Returns the footer; a subclass may shorten the text to fit the width.
    virtual QString footerFor(double) const { return m_footer; }
    void paintTexts(QPainter& painter, const QRectF& visible);
    void paintCover(QPainter& painter, const QRectF& visible);

    QString m_title;
    Viewport* m_viewport;
    QImage m_image;
    QString m_note, m_footer, m_emptyText;
    Cover m_cover;
    std::optional<QPointF> m_dragFrom;
    std::vector<pipeline::Region> m_regions;
    std::vector<pipeline::RegionReading> m_readings;
    pipeline::Polygon m_shape;  // shape that the user draws
    std::function<void(const pipeline::Polygon&)> m_shapeDone;
    struct Corner {
        std::size_t shape, corner;
    };
    struct Changing {
        Shapes shapes;
        std::function<void(const Shapes&)> done;
        Corner chosen{0, 0};
        bool drags = false;
    };
    /// Returns the corner with the least value of away(corner, next corner), if that value is within reach.
    template <typename Away>
    std::optional<Corner> nearest(const Away& away) const;
    std::optional<Corner> cornerAt(const QPointF& position) const;
    /// Returns the place for a new corner on the nearest edge.
    std::optional<Corner> edgeAt(const QPointF& position) const;
    std::optional<Changing> m_changing;
};

/// Returns the corners of a shape on the screen. `image`: the rectangle of the whole image on the screen.
QPolygonF onScreen(const pipeline::Polygon& shape, const QRectF& image);
/// Returns the cell of a grid at a point (0 to 1).
inline cv::Point cellAt(QPointF at, cv::Size grid) {
    return {std::min(int(at.x() * grid.width), grid.width - 1),
            std::min(int(at.y() * grid.height), grid.height - 1)};
}
/// Draws a line over a wider dark line, so that the line is visible on any image.
void drawLine(QPainter& painter, const QPolygonF& polygon, bool closed, const QColor& colour);

}  // namespace mpm::gui
