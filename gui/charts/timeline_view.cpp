#include "gui/charts/timeline_view.hpp"

#include "gui/text/numbers.hpp"

#include <cmath>

#include <QDateTime>
#include <QKeyEvent>
#include <QMouseEvent>

namespace mpm::gui {

namespace {

using Time = TimelineData::Time;
using pipeline::Summed;

constexpr Time kShortest = 2'000, kLongest = 400LL * 24 * 3'600'000;
constexpr Time kYoungest = 60'000;
constexpr int kFrame = 100;            // least time between two repaints while following, in milliseconds
constexpr Time kLongestFrame = 1'000;  // longest time between two repaints, so that events appear soon

}  // namespace

TimelineView::TimelineView(const TimelineData* data, QWidget* parent) : QWidget(parent), m_data(data) {
    for (Lane& lane : fieldLanes())
        if (lane.key != QLatin1String("age")) m_lanes.push_back(std::move(lane));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Timeline of tokens and other quantities"));
    connect(&m_clock, &QTimer::timeout, this, &TimelineView::moveOnByPixels);
    m_clock.start(kFrame);
    moveOn();
}

void TimelineView::moveOn() {
    if (!m_following || !isVisible()) return;
    const Time now = m_pausedAt.value_or(QDateTime::currentMSecsSinceEpoch());
    // If the data cover less time than the wanted range, the range is only as long as the data.
    const Time whole = m_data->empty() ? kYoungest : std::max(kYoungest, (now - m_data->first()) * 51 / 50);
    const Time before = std::exchange(m_shownLength, m_length > 0 ? std::min(m_length, whole) : whole);
    m_to = now;
    m_from = now - m_shownLength;
    update();
    if (before != m_shownLength) emit rangeChanged();
}

/// Moves the range if the range is behind the clock by a pixel or by kLongestFrame. Painting more often would
/// cost time and show nothing new.
void TimelineView::moveOnByPixels() {
    if (m_pausedAt) return;
    const Time pixel = (m_to - m_from) / std::max<Time>(1, static_cast<Time>(plot().width()));
    if (std::abs(QDateTime::currentMSecsSinceEpoch() - m_to) >= std::min(pixel, kLongestFrame)) moveOn();
}

void TimelineView::follow(Time length) {
    m_following = true;
    m_length = length;
    moveOn();
    emit rangeChanged();
}

void TimelineView::setRange(Time from, Time to) {
    const Time length = std::clamp(to - from, kShortest, kLongest);
    m_following = false;
    m_from = from;
    m_to = from + length;
    update();
    emit rangeChanged();
}

void TimelineView::showMoment(Time time) {
    constexpr Time kAround = 150'000;
    setRange(time - kAround, time + kAround);
    m_hover = xOf(time);
}

void TimelineView::setPaused(bool paused) {
    if (!paused)
        m_pausedAt.reset();
    else if (!m_pausedAt)
        m_pausedAt = QDateTime::currentMSecsSinceEpoch();
    moveOn();
}

void TimelineView::setStages(const std::vector<int>& blocks, bool reuse) {
    if (blocks == m_blocks && reuse == m_reuse) return;
    m_blocks = blocks;
    m_reuse = reuse;
    update();
}

void TimelineView::setLanes(const std::vector<Lane>& lanes) {
    m_lanes = lanes;
    update();
}

QRectF TimelineView::plot() const {
    const double left = fontMetrics().horizontalAdvance(QStringLiteral("0000 ms")) + 2;
    return QRectF(rect()).adjusted(left, fontMetrics().height() + 4, -8, -(fontMetrics().height() + 4));
}

Time TimelineView::timeAt(double x) const {
    const QRectF area = plot();
    return m_from + static_cast<Time>((x - area.left()) / area.width() * double(m_to - m_from));
}

double TimelineView::xOf(Time time) const {
    const QRectF area = plot();
    return area.left() + double(time - m_from) / double(m_to - m_from) * area.width();
}

TimelineView::Columns TimelineView::columns() const {
    return m_data->columns(m_from, m_to, std::max(1, static_cast<int>(plot().width())));
}

QString TimelineView::describe(int x) const {
    const Columns all = columns();
    const int at = x - static_cast<int>(plot().left());
    if (at < 0 || at >= static_cast<int>(all.size())) return {};
    const int reach = std::clamp(gapAllowed(all), 2, 40);
    for (int distance = 0; distance <= reach; ++distance)
        for (const int column : {at - distance, at + distance}) {
            if (column < 0 || column >= static_cast<int>(all.size()) || !all[column].any()) continue;
            return describe(all[column], m_from + (m_to - m_from) * column / static_cast<Time>(all.size()));
        }
    return {};
}

QString TimelineView::describe(const TimelineColumn& column, Time time) const {
    const QString clock = QDateTime::fromMSecsSinceEpoch(time).toString(
        m_to - m_from > 86'400'000 ? QStringLiteral("d MMM HH:mm") : QStringLiteral("HH:mm:ss"));
    const QString phase = column.night() ? tr("night") : tr("day");
    const double percent = column.kept.mean();
    const Span& in = column.of(Summed::TokensIn);
    const double all = in.any() ? in.mean() : m_data->tokensIn();
    QString text =
        column.of(Summed::TokenAge).any()
            ? tr("%1, %2: %3 % of the tokens computed, mean age %4 frames, luminance %5, %6 ms")
                  .arg(clock, phase, readable(percent, 0), readable(column.of(Summed::TokenAge).mean(), 1))
            : tr("%1, %2: %3 of %4 tokens, luminance %5, %6 ms")
                  .arg(clock, phase, readable(percent * all / 100, 0), readable(all, 0));
    text = text.arg(readable(column.of(Summed::Luminance).mean(), 2))
               .arg(readableMs(column.of(Summed::Latency).mean()));
    for (const Lane& lane : m_lanes)
        for (const Curve& curve : lane.curves)
            if (curve.quantity && curve.of(column).any())
                text += QStringLiteral(", %1 %2").arg(curve.name, curve.text(curve.of(column).mean()));
    if (!column.of(Summed::SavedMs).any()) return text;
    const double saved = column.of(Summed::SavedMs).mean();
    return text + (saved >= 0 ? tr(", %1 ms saved") : tr(", %1 ms lost")).arg(readable(std::abs(saved), 0));
}

void TimelineView::zoomAt(double factor, double x) {
    const Time length = std::clamp(static_cast<Time>(double(m_to - m_from) / factor), kShortest, kLongest);
    if (m_following) {  // the right edge stays at the current time
        m_length = length;
        moveOn();
        emit rangeChanged();
        return;
    }
    const Time anchor = timeAt(x);
    const double share = (x - plot().left()) / plot().width();
    setRange(anchor - static_cast<Time>(share * double(length)),
             anchor + static_cast<Time>((1 - share) * double(length)));
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    if (event->angleDelta().x() != 0) {
        const Time distance = (m_to - m_from) * -event->angleDelta().x() / 1200;
        setRange(m_from + distance, m_to + distance);
    } else {
        zoomAt(std::pow(1.002, event->angleDelta().y()), event->position().x());
    }
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) m_dragFrom = m_pressed = event->position().x();
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    m_hover = event->position().x();
    if (m_dragFrom && (event->buttons() & Qt::LeftButton)) {
        const Time distance = timeAt(*m_dragFrom) - timeAt(m_hover);
        m_dragFrom = m_hover;
        if (distance != 0) setRange(m_from + distance, m_to + distance);
    }
    update();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    m_dragFrom.reset();
    const auto pressed = std::exchange(m_pressed, std::nullopt);
    if (pressed && std::abs(event->position().x() - *pressed) < 3) return chooseMoment(*pressed);
    // If the user drags beyond the present, the range follows new measurements again.
    if (!m_following && m_to >= QDateTime::currentMSecsSinceEpoch()) follow(m_to - m_from);
}

void TimelineView::chooseMoment(double x) {
    const Time time = timeAt(x), reach = timeAt(x + 6) - time;
    Time chosen = time;
    for (const pipeline::Event& event : m_data->events(time - reach, time + reach))
        chosen = event.time.count();
    emit momentChosen(chosen);
}

void TimelineView::leaveEvent(QEvent*) {
    m_hover = -1;
    update();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    const Time step = (m_to - m_from) / 10;
    switch (event->key()) {
        case Qt::Key_Left:
            return setRange(m_from - step, m_to - step);
        case Qt::Key_Right:
            return setRange(m_from + step, m_to + step);
        case Qt::Key_Plus:
            return zoomAt(1.4, plot().center().x());
        case Qt::Key_Minus:
            return zoomAt(1 / 1.4, plot().center().x());
        case Qt::Key_End:
            return follow(m_to - m_from);
        default:
            QWidget::keyPressEvent(event);
    }
}

}  // namespace mpm::gui
