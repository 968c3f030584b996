#include "gui/views/reuse_view.hpp"

#include <algorithm>

#include <QPainter>

#include "gui/text/numbers.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

QString reasonText(ReuseReason reason) {
    return QStringList{ReuseView::tr("kept"), ReuseView::tr("changed"), ReuseView::tr("refreshed by age"),
                       ReuseView::tr("changed, postponed")}
        .value(static_cast<int>(reason));
}

}  // namespace

ReuseView::ReuseView(Viewport* viewport, QWidget* parent) : ImageView(tr("Reuse"), viewport, parent) {
    setEmptyText(tr("Tokens that are computed again appear here while reuse is on (menu Analysis)"));
}

void ReuseView::setRendered(const RenderedFrame& drawn, const RenderStyle&) {
    const ReuseReport& reuse = drawn.analysis->reuse();
    if (reuse.state == ReuseState::Off) return clear();
    m_analysis = drawn.analysis;
    setImage(drawn.reuse);
    if (reuse.state == ReuseState::Suspended) {
        setNote(tr("suspended: too many tokens change"));
        return setFooter({});
    }
    const pipeline::Segmentation& found =
        drawn.analysis->beside ? *drawn.analysis->beside : drawn.analysis->merged;
    setNote(tr("%1 % computed, %2 ms").arg(readable(100 * reuse.recomputed, 1), readableMs(found.totalMs())));
    double oldest = 0;
    cv::minMaxLoc(reuse.ages, nullptr, &oldest);
    setFooter(tr("orange: changed, blue: refreshed, magenta: postponed; the oldest is %1 frames old")
                  .arg(int(oldest)));
}

void ReuseView::clear() {
    m_analysis.reset();
    ImageView::clear();
    setFooter({});
}

QString ReuseView::describe(QPointF at) const {
    if (!m_analysis || !QRectF(0, 0, 1, 1).contains(at)) return {};
    const ReuseReport& reuse = m_analysis->reuse();
    const cv::Size grid = m_analysis->merged.grid;
    if (static_cast<int>(reuse.reasons.total()) != grid.area()) return {};
    const cv::Point cell = cellAt(at, grid);
    const int token = cell.y * grid.width + cell.x;
    return tr("token %1: %2, %3 frames old")
        .arg(token)
        .arg(reasonText(static_cast<ReuseReason>(reuse.reasons.at<uchar>(token))))
        .arg(reuse.ages.at<int>(token));
}

void ReuseView::paintMarks(QPainter& painter, const QRectF& whole) {
    if (!viewport()->cursor()) return;
    QRectF above = whole.intersected(QRectF(rect()));
    above.setBottom(above.bottom() - fontMetrics().height() - 10);  // leaves room for the footer
    painter.setFont(scaled(font(), 0.88));
    paintPlate(painter, above, Qt::AlignLeft | Qt::AlignBottom, describe(*viewport()->cursor()));
}

}  // namespace mpm::gui
