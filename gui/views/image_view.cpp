#include "gui/views/image_view.hpp"

#include <cmath>

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QTextOption>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

ImageView::ImageView(const QString& title, Viewport* viewport, QWidget* parent)
    : QWidget(parent), m_title(title), m_viewport(viewport) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(title);
    connect(viewport, &Viewport::changed, this, qOverload<>(&QWidget::update));
    connect(viewport, &Viewport::cursorChanged, this, qOverload<>(&QWidget::update));
}

void ImageView::setTitle(const QString& title) {
    if (title == m_title) return;
    m_title = title;
    setAccessibleName(title);
    update();
}

void ImageView::setImage(const QImage& image) {
    m_image = image;
    update();
}

void ImageView::setNote(const QString& note) {
    if (note == m_note) return;
    m_note = note;
    update();
}

void ImageView::setFooter(const QString& footer) {
    if (footer == m_footer) return;
    m_footer = footer;
    update();
}

void ImageView::setCover(const Cover& cover) {
    if (cover.headline == m_cover.headline && cover.detail == m_cover.detail) return;
    m_cover = cover;
    setAccessibleDescription(cover.headline);
    update();
}

void ImageView::coverAnalysis(const Covers& covers, bool explains) {
    const bool reason = !covers.overview || (explains && covers.source.empty());
    if (!reason && m_image.isNull()) return setCover({});
    setCover({covers.first().headline, reason ? covers.first().detail : QString()});
}

void ImageView::clear() {
    endShapes(false);
    setImage({});
    setNote({});
}

void ImageView::setEmptyText(const QString& text) {
    m_emptyText = text;
    update();
}

QRectF ImageView::imageRect() const {
    const QSizeF size = m_image.isNull() ? QSizeF(4, 3) : QSizeF(m_image.size());
    const double scale = std::min(width() / size.width(), height() / size.height()) * m_viewport->zoom();
    const QSizeF shown = size * scale;
    // If the image is smaller than the view in a direction, it is centred in this direction.
    const auto place = [&](double whole, double view, double centre) {
        return whole <= view ? (view - whole) / 2 : std::clamp(view / 2 - centre * whole, view - whole, 0.0);
    };
    const QPointF centre = m_viewport->centre();
    return {QPointF(place(shown.width(), width(), centre.x()), place(shown.height(), height(), centre.y())),
            shown};
}

QPointF ImageView::toImagePosition(QPointF position) const {
    const QRectF rect = imageRect();
    return {(position.x() - rect.x()) / rect.width(), (position.y() - rect.y()) / rect.height()};
}

void ImageView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath clip;
    clip.addRoundedRect(QRectF(rect()), 5, 5);
    painter.setClipPath(clip);
    painter.fillRect(rect(), theme.dark ? QColor(0x0E1116) : QColor(0xDDE1E7));
    const QRectF whole = imageRect();
    const QRectF visible = whole.intersected(QRectF(rect()));
    if (m_image.isNull()) {
        painter.setPen(theme.muted);
        painter.drawText(QRectF(rect()).adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap,
                         m_cover.empty() ? m_emptyText : QString());
    } else {
        paintImage(painter, whole);
        paintMarks(painter, whole);
        changing() ? paintCorners(painter, whole) : paintRegions(painter, whole);
        paintShape(painter, whole);
        paintCursor(painter, whole);
    }
    if (!m_cover.empty()) paintCover(painter, QRectF(rect()));
    // If the image is too narrow for the texts, the texts use the whole view.
    paintTexts(painter, m_image.isNull() || visible.width() < 160 ? QRectF(rect()) : visible);
    paintFocusFrame(painter, *this);
    emit painted();
}

void ImageView::paintImage(QPainter& painter, const QRectF& whole) {
    // An image enlarged four times or more is not smoothed, so that the user can tell the pixels apart.
    painter.setRenderHint(QPainter::SmoothPixmapTransform, whole.width() < 4.0 * m_image.width());
    painter.drawImage(whole, m_image);
}

void ImageView::paintMarks(QPainter&, const QRectF&) {}

void ImageView::paintCursor(QPainter& painter, const QRectF& whole) {
    if (!m_viewport->cursor() || underMouse()) return;
    const QPointF at(whole.x() + m_viewport->cursor()->x() * whole.width(),
                     whole.y() + m_viewport->cursor()->y() * whole.height());
    for (const auto& [colour, width] :
         {std::pair(QColor(0, 0, 0, 160), 3.0), std::pair(QColor(Qt::white), 1.0)}) {
        painter.setPen(QPen(colour, width));
        painter.drawLine(at - QPointF(8, 0), at + QPointF(8, 0));
        painter.drawLine(at - QPointF(0, 8), at + QPointF(0, 8));
    }
}

void ImageView::paintTexts(QPainter& painter, const QRectF& visible) {
    painter.setFont(scaled(font(), 0.88));
    const QRectF title = paintPlate(painter, visible, Qt::AlignLeft | Qt::AlignTop, m_title, true);
    QRectF beside = visible;
    beside.setLeft(title.right());
    if (beside.width() > 60) paintPlate(painter, beside, Qt::AlignRight | Qt::AlignTop, m_note);
    paintPlate(painter, visible, Qt::AlignLeft | Qt::AlignBottom, footerFor(visible.width()));
}

void ImageView::paintCover(QPainter& painter, const QRectF& visible) {
    // Over an image the cover is dark in both themes, so that a stale image does not look live.
    const Theme& theme = m_image.isNull() ? Theme::of(this) : Theme::darkOne();
    if (!m_image.isNull()) painter.fillRect(visible, QColor(20, 24, 30, 215));
    painter.setFont(scaled(bold(font()), 1.25));
    painter.setPen(theme.warning);
    const QRectF area = visible.adjusted(14, 30, -14, -10);
    const double middle = area.top() + area.height() * 0.42;
    const QRectF head(area.left(), area.top(), area.width(), middle - area.top());
    painter.drawText(head, Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap, m_cover.headline);
    painter.setFont(font());
    painter.setPen(theme.text);
    QTextOption wrap(Qt::AlignHCenter | Qt::AlignTop);
    wrap.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);  // because paths may be longer than a line
    painter.drawText(QRectF(area.left(), middle + 6, area.width(), area.bottom() - middle - 6),
                     m_cover.detail, wrap);
}

void ImageView::wheelEvent(QWheelEvent* event) {
    m_viewport->zoomAt(std::pow(1.0015, event->angleDelta().y()), toImagePosition(event->position()));
    event->accept();
}

void ImageView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && pressShape(event->position())) return;
    if (event->button() == Qt::LeftButton) m_dragFrom = event->position();
}

void ImageView::mouseMoveEvent(QMouseEvent* event) {
    if (moveShape(event->position())) return;
    if (m_dragFrom && (event->buttons() & Qt::LeftButton)) {
        const QPointF distance = *m_dragFrom - event->position();
        const QRectF whole = imageRect();
        m_viewport->moveBy({distance.x() / whole.width(), distance.y() / whole.height()});
        m_dragFrom = event->position();
    }
    const QPointF at = toImagePosition(event->position());
    const bool inside = QRectF(0, 0, 1, 1).contains(at) && !m_image.isNull();
    m_viewport->setCursor(inside ? std::optional(at) : std::nullopt);
}

void ImageView::mouseReleaseEvent(QMouseEvent*) {
    m_dragFrom.reset();
    if (m_changing) m_changing->drags = false;
}

void ImageView::mouseDoubleClickEvent(QMouseEvent*) {
    if (drawing()) return endShapes(true);
    if (!changing()) emit activated();
}

void ImageView::leaveEvent(QEvent*) {
    m_viewport->setCursor(std::nullopt);
}

}  // namespace mpm::gui
