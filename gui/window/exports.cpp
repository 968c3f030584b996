#include "gui/window/exports.hpp"

#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/engine/whole_file.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

namespace {

bool drawSvg(QWidget& widget, QIODevice& to) {
    QSvgGenerator svg;
    svg.setOutputDevice(&to);
    svg.setSize(widget.size());
    svg.setViewBox(widget.rect());
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    widget.render(&painter, {}, {}, QWidget::DrawChildren);
    return painter.end();
}

/// Draws a widget into an image twice its size, or into an SVG: lines and text stay sharp.
bool drawTo(QWidget& widget, const QString& file) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    bool drawn = false;
    if (file.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
        drawn = drawSvg(widget, bytes);
    } else {
        QImage image(widget.size() * 2, QImage::Format_RGB32);
        image.setDevicePixelRatio(2);
        image.fill(widget.palette().color(QPalette::Window));
        widget.render(&image);
        drawn = image.save(&bytes, QFileInfo(file).suffix().toLatin1().constData());
    }
    return drawn && writeWhole(file, bytes.data());
}

}  // namespace

void Exports::image(const QString& file) {
    if (!m_parts.session->services().settings().keepsImages) {
        emit messagePosted(tr("Measurements only: there is no image to export"), true);
        return;
    }
    const bool written = drawTo(*m_parts.views->shownWidget(), file);
    emit messagePosted(written ? tr("Image written to %1").arg(file)
                               : tr("%1: the file cannot be written").arg(file));
}

void Exports::timeline(const QString& file) {
    const bool written = drawTo(*m_parts.timeline->shown(), file);
    emit messagePosted(written ? tr("Timeline written to %1").arg(file)
                               : tr("%1: the file cannot be written").arg(file));
}

void Exports::measurements(const QString& file, pipeline::Millis from, pipeline::Millis to) {
    const LegendModel& legend = m_parts.models->legend;
    std::vector<std::string> classes;
    for (int id = 0; id < legend.rowCount(); ++id)
        classes.push_back(legend.name(id).toStdString());
    m_front->engine().recorder().exportTo(file, from, to, classes);
}

void Exports::shownMeasurements(const QString& file) {
    const TimelineView* view = m_parts.timeline->view();
    measurements(file, pipeline::Millis(view->from()), pipeline::Millis(view->to() + 1));
}

void Exports::allMeasurements(const QString& file) {
    measurements(file, pipeline::Millis(0), pipeline::Millis(INT64_MAX));
}

}  // namespace mpm::gui
