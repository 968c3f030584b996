#include "gui/views/live_view.hpp"

#include <QDateTime>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QToolButton>

#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"
#include "pipeline/draw/boxes.hpp"
#include "pipeline/draw/labels.hpp"

namespace mpm::gui {

namespace {

constexpr std::size_t kMostNames = 60;  // the names of more objects would cover the image
constexpr std::chrono::seconds kLongestWait{2};
constexpr double kLeastForNames = 320;  // in pixels; names would overlap on a narrower image

/// Returns the image with its masked parts hatched, as in the other views.
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

/// While objects are followed, ignores frames that are not analysed yet, because the boxes would lag behind
/// moving objects. Shows a new frame anyway if the last frame shown is older than kLongestWait.
void LiveView::setFrame(const LiveFrame& frame) {
    if (m_past || (m_objects && Steady::now() - m_captured < kLongestWait)) return;
    showFrame(frame);
}

void LiveView::showFrame(const LiveFrame& frame) {
    m_captured = frame.captured;
    m_fresh = true;
    setImage(withMasks(frame));
    setNote(tr("frame %1").arg(frame.number));
}

void LiveView::setObjects(const AnalysisPtr& analysis) {
    if (m_objects == nullptr && analysis->objects == nullptr) return;
    m_objects = analysis->objects;
    m_model = analysis->model;
    m_size = analysis->size;
    if (m_objects && !m_past && !analysis->frame.pixels.empty()) showFrame(analysis->frame);
    update();
}

void LiveView::paintMarks(QPainter& painter, const QRectF& whole) {
    if (m_objects == nullptr || m_past || m_size.empty()) return;
    painter.save();
    painter.setFont(scaled(font(), 0.82));
    painter.setBrush(Qt::NoBrush);
    const auto place = [&](const cv::Point2f& at) {
        return QPointF(whole.x() + double(at.x) / m_size.width * whole.width(),
                       whole.y() + double(at.y) / m_size.height * whole.height());
    };
    for (const pipeline::TrackedObject& one : m_objects->objects) {
        if (!one.seen) continue;
        const cv::Vec3b rgb = pipeline::classColour(m_model->palette, one.label);
        const QColor line(rgb[0], rgb[1], rgb[2]);
        const QColor edge = qGray(line.rgb()) < 90 ? QColor(255, 255, 255, 150) : QColor(0, 0, 0, 150);
        const QRectF box(place(one.box.tl()), place(one.box.br()));
        QPolygonF path;
        for (const cv::Point2f& at : one.path)
            path << place(at);
        for (const auto& [colour, width] : {std::pair(edge, 3.2), std::pair(line, 1.6)}) {
            painter.setPen(QPen(colour, width));
            painter.drawPolyline(path);
            painter.drawRect(box);
        }
        if (m_objects->objects.size() > kMostNames || whole.width() < kLeastForNames) continue;
        const QString name = QString::fromStdString(pipeline::className(m_model->labels, one.label));
        paintPlate(painter, box.adjusted(-6, -26, 200, 0), Qt::AlignLeft | Qt::AlignTop,
                   QStringLiteral("%1 #%2").arg(name).arg(one.id));
    }
    painter.restore();
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
    m_objects.reset();
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

void LiveView::placeButton() {
    m_now->adjustSize();
    const int hints = changing() ? 4 * (fontMetrics().height() + 10) : 0;
    m_now->move((width() - m_now->width()) / 2, height() - m_now->height() - 8 - hints);
}

}  // namespace mpm::gui
