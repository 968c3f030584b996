#include "gui/views/split_view.hpp"

#include <cmath>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "gui/text/numbers.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

/// Returns how many tokens were computed. Reuse keeps all tokens, but computes only tokens that changed.
int computedTokens(const Analysis& analysis) {
    const ReuseReport& reuse = analysis.merged.tokens.reuse;
    const bool merges = reuse.state == ReuseState::Off || reuse.state == ReuseState::Suspended;
    return merges ? analysis.tokensKept()
                  : static_cast<int>(std::lround(reuse.recomputed * analysis.tokensIn()));
}

}  // namespace

SplitView::SplitView(Viewport* viewport, QWidget* parent)
    : ImageView(tr("All tokens | merged"), viewport, parent) {
    setEmptyText(
        tr("The same frame, once with all tokens and once merged, appears here while the schedule merges or "
           "reuse is on"));
}

void SplitView::setRendered(const RenderedFrame& drawn, const RenderStyle&) {
    const Analysis& analysis = *drawn.analysis;
    m_now = conditionsOf(analysis);
    m_shows = m_now->reuses ? Shows::Reuse : analysis.schedule.empty() ? Shows::AllTokens : Shows::Merged;
    setTitle(title());
    const bool reuses = analysis.merged.tokens.reuse.state != ReuseState::Off;
    const bool compares = reuses || !analysis.schedule.empty() || !m_other.empty();
    if (!compares || !(m_of == *m_now)) clear();  // nothing to compare, or the last comparison is stale
}

QString SplitView::title() const {
    if (m_other.empty())
        return m_shows == Shows::Reuse ? tr("All tokens | reuse") : tr("All tokens | merged");
    const QString words = m_shows == Shows::Reuse    ? tr("{%1} | reuse")
                          : m_shows == Shows::Merged ? tr("{%1} | merged")
                                                     : tr("{%1} | all tokens");
    return words.arg(joined(m_other, QStringLiteral(", ")));
}

void SplitView::setOther(const std::vector<int>& schedule) {
    if (std::exchange(m_other, schedule) == schedule) return;
    setTitle(title());
    clear();
}

void SplitView::setComparison(const RenderedComparison& drawn, const SavedTime& saved) {
    const Comparison& comparison = *drawn.comparison;
    const Analysis& merged = *comparison.analysis;
    if (comparison.with != m_other) return;  // the user has chosen another schedule meanwhile
    m_of = conditionsOf(merged);
    if (m_now && !(m_of == *m_now)) return;  // made before the last change of conditions
    m_times.add(comparison);
    const SavedTime& times = m_other.empty() ? saved : m_times;
    m_whole = drawn.whole;
    // The times are medians of the last few frames, as in the HeaderBar.
    m_left = sideTexts(gui::tokensKept(comparison.whole.tokens), times.wholeMs());
    m_right = sideTexts(computedTokens(merged), times.mergedMs());
    setImage(drawn.merged);
    m_feet = feet(comparison, times);
    setFooter(m_feet.first());
}

/// Returns variants of the footer, from the longest to the shortest.
QStringList SplitView::feet(const Comparison& comparison, const SavedTime& saved) {
    const QString ms = readableMs(std::abs(saved.savedMs()));
    const bool gain = saved.savedMs() >= 0;
    if (!comparison.analysis->model->classes) {
        const QString cosine = readable(comparison.agreement, 3);
        return {(gain ? tr("cosine of features %1, %2 ms saved (median)")
                      : tr("cosine of features %1, %2 ms lost (median)"))
                    .arg(cosine, ms),
                tr("cosine %1").arg(cosine), cosine};
    }
    const QString agree = readable(100 * comparison.agreement, 1);
    QString score;
    if (comparison.scores)
        score = tr(", mIoU %1 | %2 % (%3 frames)")
                    .arg(readable(100 * comparison.scores->whole, 1),
                         readable(100 * comparison.scores->merged, 1))
                    .arg(comparison.scores->frames);
    return {(gain ? tr("%1 % of pixels agree, %2 ms saved (median)")
                  : tr("%1 % of pixels agree, %2 ms lost (median)"))
                    .arg(agree, ms) +
                score,
            tr("%1 % of pixels agree").arg(agree) + score, tr("%1 % of pixels agree").arg(agree),
            tr("%1 %").arg(agree)};
}

/// Returns variants of the text for one side, from the longest to the shortest.
QStringList SplitView::sideTexts(int tokens, double ms) {
    const QString time = readableMs(ms);
    return {tr("%1 tokens, %2 ms").arg(tokens).arg(time), tr("%1, %2 ms").arg(tokens).arg(time),
            QString::number(tokens)};
}

void SplitView::clear() {
    m_whole = {};
    m_times.clear();
    setImage({});
    m_feet.clear();
    setFooter({});
}

void SplitView::setPosition(double position) {
    m_position = std::clamp(position, 0.0, 1.0);
    update();
}

void SplitView::paintImage(QPainter& painter, const QRectF& whole) {
    ImageView::paintImage(painter, whole);
    if (m_whole.isNull()) return;
    painter.save();
    painter.setClipRect(QRectF(0, 0, sliderX(), height()), Qt::IntersectClip);
    painter.drawImage(whole, m_whole);
    painter.restore();
}

void SplitView::paintMarks(QPainter& painter, const QRectF&) {
    if (m_whole.isNull()) return;
    const double x = sliderX();
    const QRectF visible = track();
    for (const auto& [colour, width] :
         {std::pair(QColor(0, 0, 0, 150), 4.0), std::pair(QColor(Qt::white), 2.0)}) {
        painter.setPen(QPen(colour, width));
        painter.drawLine(QPointF(x, visible.top()), QPointF(x, visible.bottom()));
    }
    const QPointF middle(x, visible.center().y());
    painter.setPen(QPen(QColor(0, 0, 0, 150), 1));
    painter.setBrush(Qt::white);
    painter.drawEllipse(middle, 11, 11);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(40, 48, 60));
    for (const double side : {-1.0, 1.0})
        painter.drawPolygon(QPolygonF{middle + QPointF(side * 7.5, 0), middle + QPointF(side * 2.5, -4.5),
                                      middle + QPointF(side * 2.5, 4.5)});
    painter.setFont(scaled(font(), 0.88));
    const QRectF row(visible.left(), middle.y() - 40, visible.width(), 26);
    const QRectF left(row.left(), row.top(), x - row.left() - 6, row.height());
    const QRectF right(x + 6, row.top(), row.right() - x - 6, row.height());
    // Uses the long text on both sides or on neither, so that the sides look alike.
    const bool both = !m_left.isEmpty() && !fitting({m_left[0]}, left.width()).isEmpty() &&
                      !fitting({m_right[0]}, right.width()).isEmpty();
    paintPlate(painter, left, Qt::AlignRight | Qt::AlignVCenter,
               both ? m_left[0] : fitting(m_left.mid(1), left.width()));
    paintPlate(painter, right, Qt::AlignLeft | Qt::AlignVCenter,
               both ? m_right[0] : fitting(m_right.mid(1), right.width()));
}

/// Returns the longest text that fits; empty if none fits.
QString SplitView::fitting(const QStringList& words, double width) const {
    const QFontMetricsF metrics(scaled(font(), 0.88));
    for (const QString& candidate : words)
        if (metrics.horizontalAdvance(candidate) + 25 <= width) return candidate;
    return {};
}

void SplitView::mousePressEvent(QMouseEvent* event) {
    m_sliding = event->button() == Qt::LeftButton && onSlider(event->position().x());
    if (!m_sliding) ImageView::mousePressEvent(event);
}

void SplitView::mouseMoveEvent(QMouseEvent* event) {
    const QRectF visible = track();
    if (m_sliding && visible.width() > 0)
        setPosition((event->position().x() - visible.left()) / visible.width());
    setCursor(m_sliding || onSlider(event->position().x()) ? Qt::SplitHCursor : Qt::ArrowCursor);
    ImageView::mouseMoveEvent(event);
}

void SplitView::mouseReleaseEvent(QMouseEvent* event) {
    m_sliding = false;
    ImageView::mouseReleaseEvent(event);
}

void SplitView::keyPressEvent(QKeyEvent* event) {
    const double step = event->modifiers() & Qt::ShiftModifier ? 0.1 : 0.02;
    if (event->key() == Qt::Key_Left)
        setPosition(m_position - step);
    else if (event->key() == Qt::Key_Right)
        setPosition(m_position + step);
    else
        ImageView::keyPressEvent(event);
}

}  // namespace mpm::gui
