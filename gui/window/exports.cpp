#include "gui/window/exports.hpp"

#include <QBuffer>
#include <QDateTime>
#include <QFileInfo>
#include <QLocale>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/engine/whole_file.hpp"
#include "gui/widgets/theme.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

namespace {

constexpr int kHead = 44, kMargin = 12;  // of an exported sheet, in points of the screen

QSize sheetSize(const QWidget& widget) {
    return widget.size() + QSize(2 * kMargin, kHead + kMargin);
}

/// A sheet in the window's colours: title, source and date above the widget.
void drawSheet(QPainter& painter, QWidget& widget, const QString& title, const QString& below) {
    const Theme& theme = Theme::of(&widget);
    painter.fillRect(QRect({0, 0}, sheetSize(widget)), theme.surface);
    QFont bold = widget.font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const int line = widget.fontMetrics().height();
    painter.drawText(QPoint(kMargin, kMargin / 2 + line - 4), title);
    painter.setFont(widget.font());
    painter.setPen(theme.muted);
    painter.drawText(QPoint(kMargin, kMargin / 2 + 2 * line - 3), below);
    painter.save();
    widget.render(&painter, QPoint(kMargin, kHead), {}, QWidget::DrawChildren);
    painter.restore();
}

bool drawSvg(QWidget& widget, QIODevice& to, const QString& title, const QString& below) {
    QSvgGenerator svg;
    svg.setOutputDevice(&to);
    svg.setTitle(title.toHtmlEscaped());  // Qt writes both as they are
    svg.setDescription(below.toHtmlEscaped());
    svg.setSize(sheetSize(widget));
    svg.setViewBox(QRect({0, 0}, sheetSize(widget)));
    svg.setResolution(widget.logicalDpiX());  // points of fonts are those of the screen
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    drawSheet(painter, widget, title, below);
    return painter.end();
}

/// Draws a widget into an image twice its size, or into an SVG: lines and text stay sharp.
bool drawTo(QWidget& widget, const QString& file, const QString& title, const QString& below) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    bool drawn = false;
    if (file.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
        drawn = drawSvg(widget, bytes, title, below);
    } else {
        QImage image(sheetSize(widget) * 2, QImage::Format_RGB32);
        image.setDevicePixelRatio(2);
        QPainter painter(&image);
        drawSheet(painter, widget, title, below);
        painter.end();
        drawn = image.save(&bytes, QFileInfo(file).suffix().toLatin1().constData());
    }
    return drawn && writeWhole(file, bytes.data());
}

QString dateText(qint64 ms) {
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(ms), QLocale::ShortFormat);
}

}  // namespace

/// The source, the model and a time.
QString Exports::origin(const QString& time) const {
    const QString model = m_parts.models->statistics.setup().model.empty()
                              ? tr("no model")
                              : QString::fromStdString(m_parts.models->statistics.setup().model);
    return tr("%1, %2, %3").arg(m_front->engine().sourceName(), model, time);
}

void Exports::image(const QString& file) {
    if (!m_parts.session->services().settings().keepsImages) {
        emit messagePosted(tr("Measurements only: there is no image to export"), true);
        return;
    }
    const bool written = drawTo(*m_parts.views->shownWidget(), file, m_parts.views->entry().title(),
                                origin(dateText(QDateTime::currentMSecsSinceEpoch())));
    emit messagePosted(written ? tr("Image written to %1").arg(file)
                               : tr("%1: the file cannot be written").arg(file));
}

void Exports::timeline(const QString& file) {
    const bool written = drawTo(*m_parts.timeline->shown(), file, tr("Tokens over time"),
                                origin(tr("%1 to %2")
                                           .arg(dateText(m_parts.timeline->view()->from()),
                                                dateText(m_parts.timeline->view()->to()))));
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
