// ImageView: drawing a shape on an image, and moving the corners of shapes.
#include <algorithm>
#include <utility>

#include <QKeyEvent>
#include <QLineF>
#include <QPainter>

#include "gui/views/image_view.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr double kReach = 10;  // in pixels; a click selects a corner or an edge within this distance
const QColor kDrawn(120, 220, 255);

cv::Point2d inside(const QPointF& at) {
    return {std::clamp(at.x(), 0.0, 1.0), std::clamp(at.y(), 0.0, 1.0)};
}

double distance(const QPointF& point, const QPointF& from, const QPointF& to) {
    const QPointF edge = to - from;
    const double length = QPointF::dotProduct(edge, edge);
    const double part = length > 0 ? QPointF::dotProduct(point - from, edge) / length : 0;
    return QLineF(point, from + std::clamp(part, 0.0, 1.0) * edge).length();
}

}  // namespace

void ImageView::drawShape(std::function<void(const pipeline::Polygon&)> then) {
    endShapes(false);
    m_shape.clear();
    m_shapeDone = std::move(then);
    setFocus();
    setCursor(Qt::CrossCursor);
    update();
}

void ImageView::changeShapes(const Shapes& shapes, std::function<void(const Shapes&)> then) {
    endShapes(false);
    if (shapes.empty()) return;
    m_changing = Changing{shapes, std::move(then), {0, 0}, false};
    setFocus();
    tellCorner();
    emit shapesChanging(true);
}

void ImageView::endShapes(bool keep) {
    const auto drawn = std::exchange(m_shapeDone, nullptr);
    const auto changed = std::exchange(m_changing, std::nullopt);
    if (!drawn && !changed) return;
    unsetCursor();
    update();
    if (changed) {
        setAccessibleDescription({});
        emit shapesChanging(false);
    }
    if (changed && keep) changed->done(changed->shapes);
    // If a double click ended the shape, the first of the two clicks already added the last corner.
    if (drawn && keep && m_shape.size() >= 3) drawn(m_shape);
}

template <typename Away>
std::optional<ImageView::Corner> ImageView::nearest(const Away& away) const {
    std::optional<Corner> found;
    double least = kReach;
    for (std::size_t i = 0; i < m_changing->shapes.size(); ++i) {
        const QPolygonF corners = onScreen(m_changing->shapes[i].outline, imageRect());
        for (qsizetype j = 0; j < corners.size(); ++j) {
            const double here = away(corners[j], corners[(j + 1) % corners.size()]);
            if (here > least) continue;
            least = here;
            found = Corner{i, std::size_t(j)};
        }
    }
    return found;
}

std::optional<ImageView::Corner> ImageView::cornerAt(const QPointF& position) const {
    return nearest([&](const QPointF& corner, const QPointF&) { return QLineF(position, corner).length(); });
}

std::optional<ImageView::Corner> ImageView::edgeAt(const QPointF& position) const {
    auto found =
        nearest([&](const QPointF& from, const QPointF& to) { return distance(position, from, to); });
    if (found) ++found->corner;
    return found;
}

bool ImageView::pressShape(const QPointF& position) {
    if (drawing()) {
        // A click on the first corner closes the shape.
        const QPolygonF corners = onScreen(m_shape, imageRect());
        if (m_shape.size() >= 3 && QLineF(position, corners[0]).length() <= kReach)
            endShapes(true);
        else
            m_shape.push_back(inside(toImagePosition(position)));
        update();
        return true;
    }
    if (!m_changing) return false;
    if (const auto corner = cornerAt(position))
        m_changing->chosen = *corner;
    else if (const auto edge = edgeAt(position))
        addCorner(edge->shape, edge->corner, toImagePosition(position));
    else
        return false;
    m_changing->drags = true;
    tellCorner();
    return true;
}

bool ImageView::moveShape(const QPointF& position) {
    if (!m_changing) return false;
    if (!m_changing->drags) {
        setCursor(cornerAt(position) ? Qt::SizeAllCursor
                  : edgeAt(position) ? Qt::CrossCursor
                                     : Qt::ArrowCursor);
        return false;
    }
    const auto [shape, corner] = m_changing->chosen;
    m_changing->shapes[shape].outline[corner] = inside(toImagePosition(position));
    update();
    return true;
}

void ImageView::addCorner(std::size_t shape, std::size_t before, const QPointF& at) {
    pipeline::Polygon& outline = m_changing->shapes[shape].outline;
    outline.insert(outline.begin() + std::ptrdiff_t(before), inside(at));
    m_changing->chosen = {shape, before};
}

/// Chooses the next (1) or the previous (-1) corner. At either end of a shape, goes to the adjacent shape.
void ImageView::stepCorner(int step) {
    Corner& at = m_changing->chosen;
    const Shapes& shapes = m_changing->shapes;
    if (step > 0 && ++at.corner == shapes[at.shape].outline.size()) {
        at = {(at.shape + 1) % shapes.size(), 0};
    } else if (step < 0 && at.corner-- == 0) {
        at.shape = (at.shape + shapes.size() - 1) % shapes.size();
        at.corner = shapes[at.shape].outline.size() - 1;
    }
    tellCorner();
}

/// Describes the chosen corner for screen readers.
void ImageView::tellCorner() {
    const auto [shape, corner] = m_changing->chosen;
    const pipeline::Region& chosen = m_changing->shapes[shape];
    setAccessibleDescription(tr("%1: corner %2 of %3")
                                 .arg(QString::fromStdString(chosen.name))
                                 .arg(corner + 1)
                                 .arg(chosen.outline.size()));
    update();
}

bool ImageView::focusNextPrevChild(bool next) {
    if (!m_changing) return QWidget::focusNextPrevChild(next);
    stepCorner(next ? 1 : -1);
    return true;
}

bool ImageView::changeByKey(const QKeyEvent& event) {
    Corner& chosen = m_changing->chosen;
    pipeline::Polygon& outline = m_changing->shapes[chosen.shape].outline;
    const cv::Point2d at = outline[chosen.corner], after = outline[(chosen.corner + 1) % outline.size()];
    const QRectF whole = imageRect();
    const double step = event.modifiers() & Qt::ShiftModifier ? 10 : 1;
    const auto move = [&](double right, double down) {
        outline[chosen.corner] =
            inside({at.x + right * step / whole.width(), at.y + down * step / whole.height()});
        update();
        return true;
    };
    switch (event.key()) {
        case Qt::Key_Left:
            return move(-1, 0);
        case Qt::Key_Right:
            return move(1, 0);
        case Qt::Key_Up:
            return move(0, -1);
        case Qt::Key_Down:
            return move(0, 1);
        case Qt::Key_Insert:
            addCorner(chosen.shape, chosen.corner + 1, {(at.x + after.x) / 2, (at.y + after.y) / 2});
            break;
        case Qt::Key_Delete:
        case Qt::Key_Backspace:
            if (outline.size() <= 3) return true;
            outline.erase(outline.begin() + std::ptrdiff_t(chosen.corner));
            chosen.corner %= outline.size();
            break;
        default:
            return false;
    }
    tellCorner();
    return true;
}

void ImageView::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if ((drawing() || changing()) && (enter || event->key() == Qt::Key_Escape)) return endShapes(enter);
    if (changing() && changeByKey(*event)) return;
    if (drawing() && event->key() == Qt::Key_Backspace && !m_shape.empty()) {
        m_shape.pop_back();
        return update();
    }
    QWidget::keyPressEvent(event);
}

void ImageView::paintHints(QPainter& painter, const QStringList& hints) const {
    painter.setFont(scaled(font(), 0.88));
    QRectF room(rect());
    for (auto hint = hints.rbegin(); hint != hints.rend(); ++hint)
        room.setBottom(paintPlate(painter, room, Qt::AlignHCenter | Qt::AlignBottom, *hint).top());
}

void ImageView::paintShape(QPainter& painter, const QRectF& whole) const {
    if (!drawing()) return;
    painter.save();
    painter.setBrush(Qt::NoBrush);
    const QPolygonF polygon = onScreen(m_shape, whole);
    drawLine(painter, polygon, m_shape.size() > 2, kDrawn);
    painter.setBrush(Qt::white);
    for (const QPointF& corner : polygon)
        painter.drawEllipse(corner, 4, 4);
    const QString first = tr("Click the corners; Escape cancels");
    painter.setFont(scaled(font(), 0.88));
    if (m_shape.empty())
        paintPlate(painter, whole.intersected(QRectF(rect())), Qt::AlignHCenter | Qt::AlignVCenter, first);
    else if (m_shape.size() < 3)
        paintHints(painter, {first});
    else
        paintHints(painter, {tr("Enter, a double click or the first corner ends"),
                             tr("Backspace removes a corner, Escape cancels")});
    painter.restore();
}

void ImageView::paintCorners(QPainter& painter, const QRectF& whole) const {
    painter.save();
    const auto [chosen, corner] = m_changing->chosen;
    for (std::size_t i = 0; i < m_changing->shapes.size(); ++i) {
        const QPolygonF polygon = onScreen(m_changing->shapes[i].outline, whole);
        painter.setBrush(Qt::NoBrush);
        drawLine(painter, polygon, true, i == chosen ? kDrawn : QColor(255, 214, 90));
        for (qsizetype j = 0; j < polygon.size(); ++j) {
            const bool here = i == chosen && std::size_t(j) == corner;
            painter.setPen(QPen(QColor(0, 0, 0, 170), 1.5));
            painter.setBrush(here ? kDrawn : QColor(Qt::white));
            painter.drawEllipse(polygon[j], here ? 7 : 5, here ? 7 : 5);
        }
    }
    paintHints(painter, {tr("%1; Tab: the next corner").arg(accessibleDescription()),
                         tr("Drag it, or move it by the arrows"),
                         tr("A click on an edge or Ins adds a corner, Del removes it"),
                         tr("Enter keeps the shapes, Escape cancels")});
    painter.restore();
}

}  // namespace mpm::gui
