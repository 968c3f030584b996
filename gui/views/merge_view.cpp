#include "gui/views/merge_view.hpp"

#include <algorithm>

#include <QPainter>
#include <QPainterPath>

#include "gui/widgets/theme.hpp"

namespace mpm::gui {

MergeView::MergeView(Viewport* viewport, QWidget* parent) : ImageView(tr("Merge map"), viewport, parent) {
    setEmptyText(tr("The merged patches appear here"));
}

void MergeView::setRendered(const RenderedFrame& drawn, const RenderStyle&) {
    m_style = drawn.style.merge;
    m_analysis = drawn.analysis;
    m_map = drawn.map;
    m_sizes = pipeline::clusterSizes(m_map);
    m_colours = drawn.clusters;
    setNote(m_analysis->merged.tokens.stages.empty()
                ? tr("nothing merges")
                : tr("%1 of %2").arg(m_sizes.size()).arg(m_analysis->tokensIn()));
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
    const cv::Point cell = cellAt(at, grid);
    return cell.y * grid.width + cell.x;
}

std::vector<int> MergeView::clusterAt(QPointF at) const {
    const int patch = patchAt(at);
    std::vector<int> members;
    for (int i = 0; patch >= 0 && i < static_cast<int>(m_map.total()); ++i)
        if (m_map.at<int>(i) == m_map.at<int>(patch)) members.push_back(i);
    return members;
}

/// Returns the class at a point; empty for a model without classes.
QString MergeView::classAt(QPointF at) const {
    const pipeline::Segmentation& found = m_analysis->merged;
    if (found.labels.empty()) return {};
    const cv::Point pixel = cellAt(at, found.labels.size());
    const int id =
        found.labels.type() == CV_8U ? found.labels.at<uchar>(pixel) : found.labels.at<ushort>(pixel);
    const auto& names = m_analysis->model->labels;
    QString text =
        id < static_cast<int>(names.size()) ? QString::fromStdString(names[id]) : tr("class %1").arg(id);
    if (!found.scores.empty()) text += tr(" %1 %").arg(100 * found.scores.at<float>(pixel), 0, 'f', 0);
    return text + QStringLiteral(", ");
}

QString MergeView::describe(QPointF at) const {
    const int patch = patchAt(at);
    if (patch < 0) return {};
    for (const pipeline::Polygon& mask : m_analysis->frame.masks)
        if (mask.size() > 2 && pipeline::contains(mask, {at.x(), at.y()})) return tr("masked");
    const int members = static_cast<int>(clusterAt(at).size());
    return classAt(at) + (members == 1 ? tr("single patch, token %1").arg(m_map.at<int>(patch))
                                       : tr("%1 patches in token %2").arg(members).arg(m_map.at<int>(patch)));
}

QRectF MergeView::patchRect(int patch, const QRectF& whole) const {
    const cv::Size grid = m_analysis->merged.grid;
    const double width = whole.width() / grid.width, height = whole.height() / grid.height;
    return {whole.x() + (patch % grid.width) * width, whole.y() + (patch / grid.width) * height, width,
            height};
}

/// Paints the patches on the widget, not into the image, so that their edges are sharp at any zoom.
void MergeView::paintImage(QPainter& painter, const QRectF& whole) {
    ImageView::paintImage(painter, whole);
    if (m_map.empty()) return;
    const bool mean = m_style.colours == pipeline::MergeMapStyle::Colours::Mean;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (int patch = 0; patch < static_cast<int>(m_map.total()); ++patch) {
        const int id = m_map.at<int>(patch);
        if (!mean && m_sizes[id] < 2) continue;
        const cv::Vec3b& colour = m_colours[id];
        painter.fillRect(patchRect(patch, whole), QColor(colour[0], colour[1], colour[2], mean ? 255 : 150));
    }
    if (m_style.outlines) paintOutlines(painter, whole);
    paintMasks(painter, whole);
    painter.restore();
}

/// Paints dark lines between clusters. In mean colours, lines between dark patches are light, and lines
/// between single patches are also painted, to show that these patches did not merge.
void MergeView::paintOutlines(QPainter& painter, const QRectF& whole) const {
    const cv::Size grid = m_analysis->merged.grid;
    if (whole.width() / grid.width < 4) return;  // the lines would hide the colours
    const bool mean = m_style.colours == pipeline::MergeMapStyle::Colours::Mean;
    std::vector<QLineF> dark, light;
    const auto add = [&](int a, int b, const QLineF& line) {
        const int first = m_map.at<int>(a), second = m_map.at<int>(b);
        if (first == second || !(mean || m_sizes[first] > 1 || m_sizes[second] > 1)) return;
        const cv::Vec3b &one = m_colours[first], &other = m_colours[second];
        const int sum = 3 * (one[0] + other[0]) + 6 * (one[1] + other[1]) + one[2] + other[2];
        (mean && sum < 20 * 60 ? light : dark).push_back(line);
    };
    for (int patch = 0; patch < grid.area(); ++patch) {
        const QRectF cell = patchRect(patch, whole);
        if (patch % grid.width + 1 < grid.width) add(patch, patch + 1, {cell.topRight(), cell.bottomRight()});
        if (patch + grid.width < grid.area())
            add(patch, patch + grid.width, {cell.bottomLeft(), cell.bottomRight()});
    }
    const double cell = whole.width() / grid.width, width = !mean && cell > 14 ? 2 : 1;
    const double faint = std::min(1.0, cell / 14);  // dense dark lines would hide small patches
    painter.setPen(QPen(QColor(10, 14, 20, mean ? int(110 * faint) : 200), width));
    painter.drawLines(dark.data(), static_cast<int>(dark.size()));
    painter.setPen(QPen(QColor(255, 255, 255, int(60 * faint)), width));
    painter.drawLines(light.data(), static_cast<int>(light.size()));
}

/// Hides the patches under masks, although the network also merges these patches.
void MergeView::paintMasks(QPainter& painter, const QRectF& whole) const {
    for (const pipeline::Polygon& mask : m_analysis->frame.masks) {
        const QPolygonF polygon = onScreen(mask, whole);
        if (polygon.size() < 3) continue;
        painter.setPen(Qt::NoPen);
        for (const QBrush& brush : {QBrush(Qt::black), QBrush(QColor(72, 72, 72), Qt::BDiagPattern)}) {
            painter.setBrush(brush);
            painter.drawPolygon(polygon);
        }
    }
}

void MergeView::paintMarks(QPainter& painter, const QRectF& whole) {
    if (!viewport()->cursor()) return;
    const std::vector<int> members = clusterAt(*viewport()->cursor());
    if (members.empty()) return;
    QPainterPath path;
    for (int patch : members)
        path.addRect(patchRect(patch, whole));
    path = path.simplified();  // joins neighbours, so that they have a single outline
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
