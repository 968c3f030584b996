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

constexpr int kHead = 44, kMargin = 12;  // space above and around the widget of a Sheet, in pixels

/// A widget, or a part of a widget, with text above it.
struct Sheet {
    QWidget& widget;
    QRect part;
    QString title, below;

    QSize size() const { return part.size() + QSize(2 * kMargin, kHead + kMargin); }
};

/// Draws a sheet in the window's colours: title, source and date above the widget.
void drawSheet(QPainter& painter, const Sheet& sheet) {
    QWidget& widget = sheet.widget;
    const Theme& theme = Theme::of(&widget);
    painter.fillRect(QRect({0, 0}, sheet.size()), theme.surface);
    painter.setFont(bold(widget.font()));
    painter.setPen(theme.text);
    const int line = widget.fontMetrics().height();
    painter.drawText(QPoint(kMargin, kMargin / 2 + line - 4), sheet.title);
    painter.setFont(widget.font());
    painter.setPen(theme.muted);
    painter.drawText(QPoint(kMargin, kMargin / 2 + 2 * line - 3), sheet.below);
    painter.save();
    widget.render(&painter, QPoint(kMargin, kHead), sheet.part, QWidget::DrawChildren);
    painter.restore();
}

bool drawSvg(const Sheet& sheet, QIODevice& to) {
    QSvgGenerator svg;
    svg.setOutputDevice(&to);
    svg.setTitle(sheet.title.toHtmlEscaped());  // because Qt does not escape title and description
    svg.setDescription(sheet.below.toHtmlEscaped());
    svg.setSize(sheet.size());
    svg.setViewBox(QRect({0, 0}, sheet.size()));
    svg.setResolution(sheet.widget.logicalDpiX());  // gives fonts the same size as on the screen
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    drawSheet(painter, sheet);
    return painter.end();
}

/// Writes a sheet as an SVG, with sharp lines and text, or as an image of twice the sheet's size.
bool drawTo(const Sheet& sheet, const QString& file) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    bool drawn = false;
    if (file.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
        drawn = drawSvg(sheet, bytes);
    } else {
        QImage image(sheet.size() * 2, QImage::Format_RGB32);
        image.setDevicePixelRatio(2);
        QPainter painter(&image);
        drawSheet(painter, sheet);
        painter.end();
        drawn = image.save(&bytes, QFileInfo(file).suffix().toLatin1().constData());
    }
    return drawn && writeWhole(file, bytes.data());
}

QString dateText(qint64 ms) {
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(ms), QLocale::ShortFormat);
}

}  // namespace

/// Returns the source, the model and a time as text.
QString Exports::origin(const QString& time) const {
    const QString model = m_parts.models->statistics.setup().model.empty()
                              ? tr("no model")
                              : QString::fromStdString(m_parts.models->statistics.setup().model);
    return tr("%1, %2, %3").arg(m_front->engine().title(), model, time);
}

void Exports::image(const QString& file) {
    if (!m_parts.session->services().settings().keepsImages) {
        emit messagePosted(tr("Measurements only: there is no image to export"), true);
        return;
    }
    const Sheet sheet{*m_parts.views->shownWidget(), m_parts.views->shownImages(),
                      m_parts.views->entry().title(), origin(dateText(QDateTime::currentMSecsSinceEpoch()))};
    const bool written = drawTo(sheet, file);
    emit messagePosted(written ? tr("Image written to %1").arg(file)
                               : tr("%1: the file cannot be written").arg(file));
}

void Exports::timeline(const QString& file) {
    QWidget& shown = *m_parts.timeline->shown();
    const TimelineView* view = m_parts.timeline->view();
    const QString times = tr("%1 to %2").arg(dateText(view->from()), dateText(view->to()));
    const bool written = drawTo({shown, shown.rect(), tr("Tokens over time"), origin(times)}, file);
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
