#include "gui/views/image_view.hpp"

#include <cmath>

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QTextOption>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

QRectF paintPlate(QPainter& painter, const QRectF& area, Qt::Alignment at, const QString& text, bool bold) {
    if (text.isEmpty()) return {};
    painter.save();
    QFont font = painter.font();
    font.setBold(bold);
    painter.setFont(font);
    const QFontMetricsF metrics(font);
    const double most = area.width() - 12;
    const QString fitted = metrics.elidedText(text, Qt::ElideRight, std::max(10.0, most - 12));
    if (fitted.size() < 2 && fitted != text) return {};  // an ellipsis alone says nothing
    const QSizeF size(metrics.horizontalAdvance(fitted) + 12, metrics.height() + 4);
    const double x = at & Qt::AlignRight     ? area.right() - size.width() - 6
                     : at & Qt::AlignHCenter ? area.center().x() - size.width() / 2
                                             : area.left() + 6;
    const double y = at & Qt::AlignBottom    ? area.bottom() - size.height() - 6
                     : at & Qt::AlignVCenter ? area.center().y() - size.height() / 2
                                             : area.top() + 6;
    const QRectF plate(QPointF(x, y), size);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(10, 14, 20, 190));
    painter.drawRoundedRect(plate, 4, 4);
    painter.setPen(QColor(240, 244, 250));
    painter.drawText(plate, Qt::AlignCenter, fitted);
    painter.restore();
    return plate;
}

void paintPlateBeside(QPainter& painter, const QRectF& area, double x, const QString& text) {
    const bool left = x > area.center().x();
    const QRectF side = left ? QRectF(area.topLeft(), QPointF(x, area.bottom()))
                             : QRectF(QPointF(x, area.top()), area.bottomRight());
    paintPlate(painter, side, (left ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop, text);
}

PictureView::PictureView(const QString& title, Viewport* viewport, QWidget* parent)
    : QWidget(parent), m_title(title), m_viewport(viewport) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(title);
    connect(viewport, &Viewport::changed, this, qOverload<>(&QWidget::update));
    connect(viewport, &Viewport::cursorChanged, this, qOverload<>(&QWidget::update));
}

void PictureView::setTitle(const QString& title) {
    if (title == m_title) return;
    m_title = title;
    setAccessibleName(title);
    update();
}

void PictureView::setImage(const QImage& image) {
    m_image = image;
    update();
}

void PictureView::setNote(const QString& note) {
    if (note == m_note) return;
    m_note = note;
    update();
}

void PictureView::setFooter(const QString& footer) {
    if (footer == m_footer) return;
    m_footer = footer;
    update();
}

void PictureView::setVeil(const QString& headline, const QString& detail) {
    if (headline == m_headline && detail == m_detail) return;
    m_headline = headline;
    m_detail = detail;
    setAccessibleDescription(headline);
    update();
}

void PictureView::setEmptyText(const QString& text) {
    m_emptyText = text;
    update();
}

QRectF PictureView::pictureRect() const {
    const QSizeF size = m_image.isNull() ? QSizeF(4, 3) : QSizeF(m_image.size());
    const double scale = std::min(width() / size.width(), height() / size.height()) * m_viewport->zoom();
    const QSizeF shown = size * scale;
    // While the picture is smaller than the view in one direction it stays in its middle.
    const auto place = [&](double whole, double view, double centre) {
        return whole <= view ? (view - whole) / 2 : std::clamp(view / 2 - centre * whole, view - whole, 0.0);
    };
    const QPointF centre = m_viewport->centre();
    return {QPointF(place(shown.width(), width(), centre.x()), place(shown.height(), height(), centre.y())),
            shown};
}

QPointF PictureView::toPicture(QPointF position) const {
    const QRectF rect = pictureRect();
    return {(position.x() - rect.x()) / rect.width(), (position.y() - rect.y()) / rect.height()};
}

void PictureView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath clip;
    clip.addRoundedRect(QRectF(rect()), 5, 5);
    painter.setClipPath(clip);
    painter.fillRect(rect(), theme.dark ? QColor(0x0E1116) : QColor(0xDDE1E7));
    const QRectF whole = pictureRect();
    const QRectF visible = whole.intersected(QRectF(rect()));
    if (m_image.isNull()) {
        painter.setPen(theme.muted);
        painter.drawText(QRectF(rect()).adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap,
                         m_headline.isEmpty() ? m_emptyText : QString());
    } else {
        paintPicture(painter, whole);
        paintMarks(painter, whole);
        paintRegions(painter, whole);
        paintShape(painter, whole);
        paintCursor(painter, whole);
    }
    if (!m_headline.isEmpty()) paintVeil(painter, QRectF(rect()));
    // A picture a few points wide has no room for words; the view has.
    paintWords(painter, m_image.isNull() || visible.width() < 160 ? QRectF(rect()) : visible);
    emit painted();
}

void PictureView::paintPicture(QPainter& painter, const QRectF& whole) {
    // Past four times its size a smoothed picture is a blur; single pixels say more.
    painter.setRenderHint(QPainter::SmoothPixmapTransform, whole.width() < 4.0 * m_image.width());
    painter.drawImage(whole, m_image);
}

void PictureView::paintMarks(QPainter&, const QRectF&) {}

void PictureView::paintCursor(QPainter& painter, const QRectF& whole) {
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

void PictureView::paintWords(QPainter& painter, const QRectF& visible) {
    painter.setFont(scaled(font(), 0.88));
    const QRectF title = paintPlate(painter, visible, Qt::AlignLeft | Qt::AlignTop, m_title, true);
    QRectF beside = visible;
    beside.setLeft(title.right());
    if (beside.width() > 60) paintPlate(painter, beside, Qt::AlignRight | Qt::AlignTop, m_note);
    paintPlate(painter, visible, Qt::AlignLeft | Qt::AlignBottom, footerFor(visible.width()));
}

void PictureView::paintVeil(QPainter& painter, const QRectF& visible) {
    // Over a picture the veil is dark whatever the colours of the window: it must hide what looks alive.
    const Theme& theme = m_image.isNull() ? Theme::of(this) : Theme::darkOne();
    if (!m_image.isNull()) painter.fillRect(visible, QColor(20, 24, 30, 215));
    QFont large = font();
    large.setBold(true);
    painter.setFont(scaled(large, 1.25));
    painter.setPen(theme.warning);
    const QRectF area = visible.adjusted(14, 30, -14, -10);
    const double middle = area.top() + area.height() * 0.42;
    const QRectF head(area.left(), area.top(), area.width(), middle - area.top());
    painter.drawText(head, Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap, m_headline);
    painter.setFont(font());
    painter.setPen(theme.text);
    QTextOption wrap(Qt::AlignHCenter | Qt::AlignTop);
    wrap.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);  // paths may be longer than a line
    painter.drawText(QRectF(area.left(), middle + 6, area.width(), area.bottom() - middle - 6), m_detail,
                     wrap);
}

void PictureView::wheelEvent(QWheelEvent* event) {
    m_viewport->zoomAt(std::pow(1.0015, event->angleDelta().y()), toPicture(event->position()));
    event->accept();
}

void PictureView::mousePressEvent(QMouseEvent* event) {
    if (drawing() && event->button() == Qt::LeftButton) {
        const QPointF at = toPicture(event->position());
        m_shape.emplace_back(std::clamp(at.x(), 0.0, 1.0), std::clamp(at.y(), 0.0, 1.0));
        return update();
    }
    if (event->button() == Qt::LeftButton) m_dragFrom = event->position();
}

void PictureView::mouseMoveEvent(QMouseEvent* event) {
    if (m_dragFrom && (event->buttons() & Qt::LeftButton)) {
        const QPointF distance = *m_dragFrom - event->position();
        const QRectF whole = pictureRect();
        m_viewport->moveBy({distance.x() / whole.width(), distance.y() / whole.height()});
        m_dragFrom = event->position();
    }
    const QPointF at = toPicture(event->position());
    const bool inside = QRectF(0, 0, 1, 1).contains(at) && !m_image.isNull();
    m_viewport->setCursor(inside ? std::optional(at) : std::nullopt);
}

void PictureView::mouseReleaseEvent(QMouseEvent*) {
    m_dragFrom.reset();
}

void PictureView::mouseDoubleClickEvent(QMouseEvent*) {
    if (drawing()) return endShape(true);
    emit activated();
}

void PictureView::leaveEvent(QEvent*) {
    m_viewport->setCursor(std::nullopt);
}

}  // namespace mpm::gui
