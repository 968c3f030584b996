// What the main window does when the engine tells it something, and when it closes.
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QSplitter>
#include <QUrl>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui {

void MainWindow::onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis) {
    ++m_analysed;
    m_schedule.setTokens(analysis->merged.tokens.tokens);
    m_legend.setShares(analysis->shares);
    m_health.setAnalysis(measurement, *analysis);
    m_header->setAnalysis(*analysis);
    m_timeline->view()->setStages(analysis->schedule);
    m_views->setAnalysisVeil({}, {});
    m_regions.setReadings(analysis->regions, analysis->model->labels);
    m_views->setRegions(m_services.settings().of(m_engine->sourceName()).regions, analysis->regions);
    if (analysis->repeat) return;  // seen before: not a new measurement
    if (analysis->schedule == m_state.request.schedule) m_statistics.add(measurement);
    m_header->setDayNight(m_statistics.statistics());
    m_timelineData.add(measurement);
}

void MainWindow::onSource(const SourceReport& report) {
    m_report = report;
    m_views->setSource(report, m_engine->paused());
    m_header->setSource(report, m_engine->paused());
    m_health.setSource(report);
}

void MainWindow::onModel(const ModelFactsPtr& facts) {
    const bool first = m_facts == nullptr;
    m_facts.reset();  // what follows is no choice of anybody's
    m_schedule.setBlocks(facts->blocks);
    if (m_state.ownSchedule) m_state.request.schedule = facts->schedule;
    m_schedule.setSchedule(m_state.request.schedule);
    m_state.request.schedule = m_schedule.schedule();
    m_facts = facts;
    if (!m_wantedModel.isEmpty()) m_state.model = std::exchange(m_wantedModel, QString());
    m_saved.clear();
    m_statistics.clear();
    m_sidebar->schedule()->setOwnSchedule(facts->schedule);
    m_legend.setClasses(facts->labels, m_state.safePalette ? pipeline::Palette() : facts->palette);
    std::vector<bool> hidden;
    for (const std::string& label : facts->labels)
        hidden.push_back(m_state.hiddenClasses.contains(QString::fromStdString(label)));
    m_legend.setHidden(hidden);
    const QString size =
        tr("%1×%2, %3 blocks").arg(facts->input.height).arg(facts->input.width).arg(facts->blocks);
    m_header->setModel(facts->random ? tr("Random weights: labels mean nothing (%1)").arg(size)
                                     : tr("%1 (%2)").arg(facts->name, size),
                       facts->random);
    m_health.setModel(facts->name, facts->random ? HealthModel::Warning : HealthModel::Good);
    m_views->setModel(*facts);
    for (const auto& engine : m_engines)
        if (!first) engine->noteEvent(QStringLiteral("model"), facts->name);
    if (first) m_views->setAnalysisVeil({}, {});
    sendRequest();
    sendStyle();
}

void MainWindow::onModelFailed(const QString& model, const QString& message) {
    m_wantedModel.clear();
    offerConversion(model, message);
    if (m_facts) {
        say(tr("Model refused, %1 goes on: %2").arg(m_facts->name, message), true);
        m_health.setModel(m_facts->name, HealthModel::Good);
        return;
    }
    m_views->setAnalysisVeil(tr("This model cannot be used"), message);
    m_health.setModel(tr("refused: %1").arg(model), HealthModel::Bad);
    m_header->setModel(tr("No model: %1").arg(message), true);
    say(message, true);
}

void MainWindow::onSecond() {
    const double seconds = double(m_sinceRates.restart()) / 1000;
    if (seconds <= 0) return;
    const std::int64_t frames = m_report.status.frames;
    m_health.setRates(std::exchange(m_analysed, 0) / seconds,
                      double(frames - std::exchange(m_framesBefore, frames)) / seconds);
    m_health.updateAge();
    m_health.updateProcessor();
}

void MainWindow::saveProfile() {
    m_state.opacity = m_views->opacity();
    m_state.outlines = m_views->outlines();
    m_state.view = ViewArea::modeKey(m_views->mode());
    m_state.geometry = saveGeometry();
    m_state.sideSplit = m_sideSplit->saveState();
    m_state.sidePanel = m_sideSplit->panelWanted();
    m_state.timeSplit = m_timeSplit->saveState();
    m_state.foldedSections = m_sidebar->folded();
    if (m_facts) {
        m_state.hiddenClasses.clear();
        const std::vector<bool> hidden = m_legend.hidden();
        for (int id = 0; id < m_legend.rowCount(); ++id)
            if (hidden[id]) m_state.hiddenClasses << m_legend.name(id);
    }
    m_profile.save(m_state);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

/// A model is taken for a model, anything else for a source.
void MainWindow::dropEvent(QDropEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.isEmpty()) return;
    const QString name = urls.first().isLocalFile() ? urls.first().toLocalFile() : urls.first().toString();
    if (name.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive))
        openModel(name);
    else
        openSource(name);
    event->acceptProposedAction();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_converter.cancel();
    saveProfile();
    event->accept();
}

}  // namespace mpm::gui
