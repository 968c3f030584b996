// Regions, masks, alerts, recordings, exports, conversions: what the menus ask the window for.
#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QPushButton>
#include <QSvgGenerator>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/engine/whole_file.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/panels/legend_view.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/views/image_view.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/window/main_window.hpp"

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

/// Draws a widget into an image twice its size, or into an SVG: what it paints is lines and words.
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

void MainWindow::connectServices() {
    connect(&m_network, &SharedNetwork::modelLoading, this, [this](const QString& model) {
        m_health.setModel(tr("loading %1").arg(model), HealthModel::Warning);
        if (!m_facts) m_views->setAnalysisVeil(tr("Loading the model"), model);
    });
    connect(&m_network, &SharedNetwork::modelLoaded, this, &MainWindow::onModel);
    connect(&m_network, &SharedNetwork::modelFailed, this, &MainWindow::onModelFailed);
    connect(&m_network, &SharedNetwork::networkFailed, this, [this](const QString& message) {
        m_views->setAnalysisVeil(tr("The network stopped"), message);
        m_health.setModel(tr("stopped: %1").arg(message), HealthModel::Bad);
    });
    connect(&m_services, &Services::said, this, &MainWindow::say);
    connect(&m_services, &Services::alerted, this, [this](const AlertNotice& notice) {
        m_alerts.add(notice);
        say(tr("Alert '%1', %2: %3").arg(notice.rule, notice.source, notice.text), true);
    });
    connect(&m_services, &Services::recordingChanged, this,
            [this] { emit recordingChanged(m_services.recording(*m_engine)); });
    connectConverter();
    connect(m_views, &ViewArea::tileChosen, this, [this](const Engine* engine) {
        for (std::size_t i = 0; i < m_engines.size(); ++i)
            if (m_engines[i].get() == engine) showSourceAt(static_cast<int>(i));
        m_views->setMode(ViewArea::Overview);
    });
    try {
        m_services.apply(readWatchSettings(m_profile.watchPath()));
    } catch (const WatchError& error) {
        // What was to be masked is not known any more: nothing is shown.
        m_watchDamaged = true;
        WatchSettings blind;
        blind.keepsPictures = false;
        m_services.apply(blind);
        say(tr("%1. Pictures stay hidden: masks may be missing.").arg(QString::fromUtf8(error.what())), true);
    }
    applyBlind();
}

void MainWindow::applyBlind() {
    using Blind = ViewArea::Blind;
    const bool shown = m_services.settings().keepsPictures;
    m_views->setBlind(shown ? Blind::No : m_watchDamaged ? Blind::WatchFileDamaged : Blind::Chosen);
}

void MainWindow::setWatch(const WatchSettings& settings) {
    m_services.apply(settings);
    applyBlind();
    updateRegions();
    applyWatched();
    sendRequest();
    emit watchChanged();
    if (m_watchDamaged) return;  // mended by hand, not overwritten
    try {
        writeWatchSettings(m_profile.watchPath(), settings);
    } catch (const WatchError& error) {
        say(QString::fromUtf8(error.what()), true);
    }
}

void MainWindow::updateRegions() {
    const SourceWatch& watch = m_services.settings().of(m_engine->sourceName());
    m_regions.setRegions(watch.regions);
    m_views->setRegions(watch.regions, {});
}

void MainWindow::drawRegion() {
    if (m_views->mode() != ViewArea::Picture && m_views->mode() != ViewArea::Overview)
        m_views->setMode(ViewArea::Picture);
    say(tr("Click the corners of the region; Enter or a double click ends, Escape gives up"));
    m_views->pictureView()->drawShape([this](const pipeline::Polygon& shape) {
        WatchSettings watch = m_services.settings();
        auto& regions = watch.sources[m_engine->sourceName()].regions;
        regions.push_back({tr("Region %1").arg(regions.size() + 1).toStdString(), shape});
        setWatch(watch);
        say(tr("%1 is measured from now on").arg(safeText(regions.back().name)));
    });
}

void MainWindow::drawMask() {
    m_views->setMode(ViewArea::Picture);
    say(tr("Click the corners of what nobody may see; Enter or a double click ends, Escape gives up"));
    m_views->pictureView()->drawShape([this](const pipeline::Polygon& shape) {
        WatchSettings watch = m_services.settings();
        watch.sources[m_engine->sourceName()].masks.push_back(shape);
        setWatch(watch);
        say(tr("Masked before the network, the screen and the store"));
    });
}

void MainWindow::toggleRecording() {
    if (m_services.recording(*m_engine)) {
        m_services.stopRecording(*m_engine);
    } else if (!m_services.startRecording(*m_engine)) {
        say(tr("Measurements only: there is no picture to record"), true);
    } else {
        say(tr("Recording; the same key ends it"));
    }
    applyWatched();
    emit recordingChanged(m_services.recording(*m_engine));
}

void MainWindow::setSafePalette(bool safe) {
    m_state.safePalette = safe;
    if (!m_facts) return;
    const std::vector<bool> hidden = m_legend.hidden();
    m_legend.setClasses(m_facts->labels, safe ? pipeline::Palette() : m_facts->palette);
    m_legend.setHidden(hidden);
    if (safe) m_views->setOutlines(true);  // lines tell apart what colours may not
}

void MainWindow::exportTo(const QString& file, pipeline::Millis from, pipeline::Millis to) {
    std::vector<std::string> classes;
    for (int id = 0; id < m_legend.rowCount(); ++id)
        classes.push_back(m_legend.name(id).toStdString());
    m_engine->recorder().exportTo(file, from, to, classes);
}

void MainWindow::exportCsv(const QString& file) {
    const TimelineView* view = m_timeline->view();
    exportTo(file, pipeline::Millis(view->from()), pipeline::Millis(view->to() + 1));
}

void MainWindow::exportAll(const QString& file) {
    exportTo(file, pipeline::Millis(0), pipeline::Millis(INT64_MAX));
}

void MainWindow::exportPicture(const QString& file) {
    if (!m_services.settings().keepsPictures)
        return say(tr("Measurements only: there is no picture to export"), true);
    say(drawTo(*m_views->picture(), file) ? tr("Picture written to %1").arg(file)
                                          : tr("%1: the file cannot be written").arg(file));
}

void MainWindow::exportTimeline(const QString& file) {
    say(drawTo(*m_timeline->shown(), file) ? tr("Timeline written to %1").arg(file)
                                           : tr("%1: the file cannot be written").arg(file));
}

void MainWindow::connectConverter() {
    connect(m_conversion, &ConversionBar::cancelWanted, this, &MainWindow::cancelConversion);
    connect(&m_converter, &ModelConverter::started, m_conversion, &ConversionBar::begin);
    connect(&m_converter, &ModelConverter::converted, this, [this](const QString&, const QString& made) {
        m_conversion->end();
        say(tr("Converted to %1").arg(made));
        openModel(made);
    });
    connect(&m_converter, &ModelConverter::refused, this,
            [this](const QString& file, const QString& message) {
                m_conversion->end();
                say(tr("%1 cannot be converted: %2").arg(QFileInfo(file).fileName(), message), true);
            });
    connect(&m_converter, &ModelConverter::cancelled, this, [this](const QString& file) {
        m_conversion->end();
        say(tr("%1 is not converted").arg(QFileInfo(file).fileName()));
    });
    connect(&m_converter, &Worker::broke, this, [this](const QString& message) {
        m_conversion->end();
        say(tr("Converting stopped: %1").arg(message), true);
    });
}

void MainWindow::cancelConversion() {
    m_converter.cancel();
}

void MainWindow::convertModel(const QString& file) {
    say(tr("Converting %1 beside the model that runs").arg(QFileInfo(file).fileName()));
    m_converter.convert(file, QFileInfo(m_profile.storePath()).absolutePath() + QStringLiteral("/models"));
}

/// A raw export is no model of ours yet, but may become one.
void MainWindow::offerConversion(const QString& model, const QString& message) {
    if (!QFileInfo(model).isFile() || !isVisible()) return;
    QMessageBox* box =
        plainBox(QMessageBox::Question, tr("Convert this model?"),
                 tr("%1 is refused").arg(safeText(QFileInfo(model).fileName())),
                 tr("%1\n\nIf it is the ONNX export of a vision transformer, it can be converted "
                    "now. The model that runs goes on meanwhile.")
                     .arg(message),
                 QMessageBox::Cancel, this);
    box->setObjectName(QStringLiteral("offerConversion"));
    QPushButton* yes = box->addButton(tr("Convert"), QMessageBox::AcceptRole);
    connect(yes, &QPushButton::clicked, this, [this, model] { convertModel(model); });
    box->open();
}

}  // namespace mpm::gui
