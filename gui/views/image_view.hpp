// The base class of most views: an image with short texts. Views with a common Viewport zoom together.
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
    /// Draws the outline and name of each region, and the tokens of each region that `readings` contains.
    void setRegions(const std::vector<pipeline::Region>& regions,
                    const std::vector<pipeline::RegionReading>& readings) override;
    /// Lets the user click the corners of a shape. `then` receives the shape; if the user cancels, or the
    /// shape has fewer than three corners, `then` is not called.
    void drawShape(std::function<void(const pipeline::Polygon&)> then);
    bool drawing() const { return static_cast<bool>(m_shapeDone); }
    /// Lets the user move, add and remove corners of shapes with mouse or keyboard. `then` receives the
    /// shapes at the end; if the user cancels, `then` is not called.
    using Shapes = std::vector<pipeline::Region>;
    void changeShapes(const Shapes& shapes, std::function<void(const Shapes&)> then);
    bool changing() const { return m_changing.has_value(); }
    /// Ends drawShape() or changeShapes(). If `keep` is true, `then` receives the result, if it has at least
    /// three corners.
    void endShapes(bool keep);
    /// Sets the text that is shown while there is no image.
    void setEmptyText(const QString& text);

    QWidget* widget() override { return this; }
    void clear() override;

    QSize sizeHint() const override { return {480, 360}; }
    QSize minimumSizeHint() const override { return {120, 90}; }

signals:
    void activated();  ///< emitted on a double click
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

    /// Returns the rectangle of the whole image in the widget. A zoomed image extends beyond the widget.
    QRectF imageRect() const;
    QPointF toImagePosition(QPointF position) const;
    Viewport* viewport() const { return m_viewport; }

    /// Covers an image that is not current. In the overview, the cover contains the reason only if `explains`
    /// is true and the source delivers images. If the reason is left out, an empty view has no cover.
    void coverAnalysis(const Covers& covers, bool explains);

    virtual void paintImage(QPainter& painter, const QRectF& rect);
    /// Paints over the image, but under the texts.
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
    /// Returns the corner with the smallest away(corner, next corner); absent if no value is within kReach.
    template <typename Away>
    std::optional<Corner> nearest(const Away& away) const;
    std::optional<Corner> cornerAt(const QPointF& position) const;
    /// Returns the index for a new corner on the nearest edge; absent if no edge is within kReach.
    std::optional<Corner> edgeAt(const QPointF& position) const;
    std::optional<Changing> m_changing;
};

/// Returns the corners of a shape in a widget. `image`: the rectangle of the whole image in the widget.
QPolygonF onScreen(const pipeline::Polygon& shape, const QRectF& image);
/// Returns the grid cell at a point with coordinates from 0 to 1.
inline cv::Point cellAt(QPointF at, cv::Size grid) {
    return {std::min(int(at.x() * grid.width), grid.width - 1),
            std::min(int(at.y() * grid.height), grid.height - 1)};
}
/// Draws a line over a wider dark line, so that the line is visible on any image.
void drawLine(QPainter& painter, const QPolygonF& polygon, bool closed, const QColor& colour);

}  // namespace mpm::gui
