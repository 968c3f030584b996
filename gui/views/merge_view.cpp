#include "gui/views/merge_view.hpp"

#include <algorithm>

#include <QPainter>
#include <QPainterPath>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

MergeView::MergeView(Viewport* viewport, QWidget* parent) : ImageView(tr("Merge map"), viewport, parent) {
    setEmptyText(tr("The merged patches appear here"));
}

void MergeView::setRendered(const RenderedFrame& drawn, const RenderStyle& style) {
    int stage = style.stage;
    m_outlines = style.merge.outlines;
    m_analysis = drawn.analysis;
    const mpm::ImageReport& report = m_analysis->merged.tokens;
    const int stages = static_cast<int>(report.stages.size());
    if (stage >= stages) stage = -1;
    m_map = mapAfter(report, stage);
    const mpm::Stage* shown = stages == 0 ? nullptr : &report.stages[stage < 0 ? stages - 1 : stage];
    setNote(shown == nullptr ? tr("nothing merges")
                             : tr("%1 of %2").arg(shown->tokens).arg(m_analysis->tokensIn()));
    m_sizes = pipeline::clusterSizes(m_map);
    m_colours = pipeline::clusterColours(m_map, m_analysis->merged.grid);
    setImage(drawn.grey);
}

void MergeView::clear() {
    m_analysis.reset();
    m_map.release();
    ImageView::clear();
}

int MergeView::patchAt(QPointF at) const {
    if (!m_analysis || m_map.empty() || !QRectF(0, 0, 1, 1).contains(at)) return -1;
    const cv::Size grid = m_analysis->merged.grid;
    const int x = std::min(int(at.x() * grid.width), grid.width - 1);
    const int y = std::min(int(at.y() * grid.height), grid.height - 1);
    return y * grid.width + x;
}

std::vector<int> MergeView::clusterAt(QPointF at) const {
    const int patch = patchAt(at);
    std::vector<int> members;
    for (int i = 0; patch >= 0 && i < static_cast<int>(m_map.total()); ++i)
        if (m_map.at<int>(i) == m_map.at<int>(patch)) members.push_back(i);
    return members;
}

QString MergeView::describe(QPointF at) const {
    const int patch = patchAt(at);
    if (patch < 0) return {};
    const pipeline::Segmentation& found = m_analysis->merged;
    const int x = std::min(int(at.x() * found.labels.cols), found.labels.cols - 1);
    const int y = std::min(int(at.y() * found.labels.rows), found.labels.rows - 1);
    const int id =
        found.labels.type() == CV_8U ? found.labels.at<uchar>(y, x) : found.labels.at<ushort>(y, x);
    const auto& names = m_analysis->model->labels;
    QString text =
        id < static_cast<int>(names.size()) ? QString::fromStdString(names[id]) : tr("class %1").arg(id);
    if (!found.scores.empty()) text += tr(" %1 %").arg(100 * found.scores.at<float>(y, x), 0, 'f', 0);
    const int members = static_cast<int>(clusterAt(at).size());
    text += members == 1 ? tr(", single patch, token %1").arg(m_map.at<int>(patch))
                         : tr(", %1 patches in token %2").arg(members).arg(m_map.at<int>(patch));
    return text;
}

QRectF MergeView::patchRect(int patch, const QRectF& whole) const {
    const cv::Size grid = m_analysis->merged.grid;
    const double width = whole.width() / grid.width, height = whole.height() / grid.height;
    return {whole.x() + (patch % grid.width) * width, whole.y() + (patch / grid.width) * height, width,
            height};
}

/// Painted here and not into the image: patches stay sharp at any zoom and on any screen.
void MergeView::paintImage(QPainter& painter, const QRectF& whole) {
    ImageView::paintImage(painter, whole);
    if (m_map.empty()) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (int patch = 0; patch < static_cast<int>(m_map.total()); ++patch) {
        const int id = m_map.at<int>(patch);
        if (m_sizes[id] < 2) continue;
        const cv::Vec3b& colour = m_colours[id];
        painter.fillRect(patchRect(patch, whole), QColor(colour[0], colour[1], colour[2], 150));
    }
    if (m_outlines) paintOutlines(painter, whole);
    painter.restore();
}

/// A line wherever a merged patch meets one that is not of its cluster.
void MergeView::paintOutlines(QPainter& painter, const QRectF& whole) const {
    const cv::Size grid = m_analysis->merged.grid;
    if (whole.width() / grid.width < 4) return;  // a net of lines would hide the colours
    std::vector<QLineF> lines;
    const auto parted = [&](int a, int b) {
        const int first = m_map.at<int>(a), second = m_map.at<int>(b);
        return first != second && (m_sizes[first] > 1 || m_sizes[second] > 1);
    };
    for (int patch = 0; patch < grid.area(); ++patch) {
        const QRectF cell = patchRect(patch, whole);
        if (patch % grid.width + 1 < grid.width && parted(patch, patch + 1))
            lines.emplace_back(cell.topRight(), cell.bottomRight());
        if (patch + grid.width < grid.area() && parted(patch, patch + grid.width))
            lines.emplace_back(cell.bottomLeft(), cell.bottomRight());
    }
    painter.setPen(QPen(QColor(16, 20, 26, 200), whole.width() / grid.width > 14 ? 2 : 1));
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
}

void MergeView::paintMarks(QPainter& painter, const QRectF& whole) {
    if (!viewport()->cursor()) return;
    const std::vector<int> members = clusterAt(*viewport()->cursor());
    if (members.empty()) return;
    QPainterPath path;
    for (int patch : members)
        path.addRect(patchRect(patch, whole));
    path = path.simplified();  // one outline around neighbours
    painter.setBrush(QColor(255, 255, 255, 60));
    painter.setPen(QPen(QColor(0, 0, 0, 200), 4));
    painter.drawPath(path);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Qt::white, 2));
    painter.drawPath(path);
    painter.setFont(scaled(font(), 0.88));
    paintPlate(painter, whole.intersected(QRectF(rect())), Qt::AlignLeft | Qt::AlignBottom,
               describe(*viewport()->cursor()));
}

}  // namespace mpm::gui
