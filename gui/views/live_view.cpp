#include "gui/views/live_view.hpp"

#include <QDateTime>
#include <QKeyEvent>
#include <QLocale>
#include <QToolButton>

#include "gui/widgets/plain_widgets.hpp"
#include "pipeline/draw/labels.hpp"

namespace mpm::gui {

namespace {

/// Masked parts are hatched, as in the other views.
QImage withMasks(const LiveFrame& frame) {
    if (frame.masks.empty() || frame.pixels.empty()) return frame.image;
    cv::Mat shown = frame.pixels.clone();
    pipeline::drawMasked(shown, pipeline::seenThrough(frame.masks, shown.size()));
    return toImage(shown);
}

}  // namespace

LiveView::LiveView(Viewport* viewport, QWidget* parent)
    : ImageView(tr("Image"), viewport, parent), m_now(new QToolButton(this)) {
    setEmptyText(tr("Waiting for the first image"));
    m_now->setText(tr("Now"));
    setPlainToolTip(m_now, tr("Back to the present (Escape); Left and Right step through the past"));
    m_now->hide();
    connect(m_now, &QToolButton::clicked, this, [this] { changing() ? endShapes(true) : showNow(); });
    connect(this, &ImageView::shapesChanging, this, [this](bool changing) {
        m_now->setText(changing ? tr("Done") : tr("Now"));
        m_now->setVisible(changing);
        placeButton();
    });
    connect(this, &ImageView::painted, this, [this] {
        if (!std::exchange(m_fresh, false)) return;
        m_displayMs = std::chrono::duration<double, std::milli>(Steady::now() - m_captured).count();
    });
}

void LiveView::setFrame(const LiveFrame& frame) {
    if (m_past) return;
    m_captured = frame.captured;
    m_fresh = true;
    setImage(withMasks(frame));
    setNote(tr("frame %1").arg(frame.number));
}

void LiveView::setCovers(const Covers& covers) {
    m_cover = covers.source;
    setCover(m_past ? Cover() : m_cover);
}

void LiveView::showPast(const QImage& image, qint64 time, const QString& source) {
    m_past = time;
    const QDateTime then = QDateTime::fromMSecsSinceEpoch(time);
    setImage(image);
    setTitle(tr("PAST: %1").arg(QLocale().toString(then, QStringLiteral("d MMM yyyy HH:mm:ss"))));
    setNote(source);
    setCover({});
    m_now->show();
    placeButton();
    setFocus();
}

void LiveView::showNow() {
    if (!std::exchange(m_past, std::nullopt)) return;
    m_now->hide();
    setTitle(tr("Image"));
    setImage({});  // until the next frame
    setCover(m_cover);
}

void LiveView::clear() {
    showNow();
    ImageView::clear();
}

void LiveView::keyPressEvent(QKeyEvent* event) {
    if (!m_past || drawing() || changing()) return ImageView::keyPressEvent(event);
    if (event->key() == Qt::Key_Escape) return showNow();
    if (event->key() == Qt::Key_Left) return emit pastStepped(-1);
    if (event->key() == Qt::Key_Right) return emit pastStepped(1);
    ImageView::keyPressEvent(event);
}

void LiveView::resizeEvent(QResizeEvent*) {
    placeButton();
}

void LiveView::placeButton() {
    m_now->adjustSize();
    const int hints = changing() ? 4 * fontMetrics().height() : 0;
    m_now->move((width() - m_now->width()) / 2, height() - m_now->height() - 8 - hints);
}

}  // namespace mpm::gui
