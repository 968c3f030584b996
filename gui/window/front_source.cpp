#include "gui/window/front_source.hpp"

#include <QDateTime>
#include <QFileInfo>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/playback_bar.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/live_view.hpp"

namespace mpm::gui {

namespace {

constexpr qint64 kCompareAgain = 3'600'000;

}  // namespace

FrontSource::FrontSource(const Parts& parts) : m_parts(parts) {
    m_sinceRates.start();
    connect(m_parts.timeline->view(), &TimelineView::momentChosen, this, &FrontSource::showPast);
    connect(m_parts.sidebar, &Sidebar::momentChosen, this, [this](qint64 time, const QString& source) {
        showPastOf(source.isEmpty() ? m_engine->sourceName() : source, time);
    });
    connect(m_parts.views->find<LiveView>(), &LiveView::pastStepped, this, &FrontSource::stepPast);
}

void FrontSource::showPastOf(const QString& source, qint64 time) {
    const Services& services = m_parts.session->services();
    const QString file = services.settings().keepsImages
                             ? services.thumbnails().nearest(source, time, Thumbnails::kEvery)
                             : QString();
    const QImage image(file);
    if (image.isNull()) return emit messagePosted(tr("No image is kept of this moment"));
    m_pastOf = source;
    m_parts.views->showView(QStringLiteral("picture"));
    m_parts.views->find<LiveView>()->showPast(
        image, QFileInfo(file).completeBaseName().toLongLong(),
        source == m_engine->sourceName() ? QString() : shownTitle(services.settings().titleOf(source)));
}

void FrontSource::stepPast(int direction) {
    const auto past = m_parts.views->find<LiveView>()->past();
    if (!past) return;
    const auto next = m_parts.session->services().thumbnails().beside(m_pastOf, *past, direction);
    if (next) showPastOf(m_pastOf, *next);
}

void FrontSource::select(Engine& engine) {
    m_engine = &engine;
    m_link = std::make_unique<QObject>();
    clear();
    m_framesBefore = engine.report().status.frames;
    connectImages(m_link.get());
    connectEvents(m_link.get());
    connectRecorder(m_link.get());
    if (engine.sourceName().isEmpty()) return;
    engine.recorder().loadHistory();
    setReport(engine.report());
    updateRegions();
    m_parts.timeline->view()->setPaused(engine.paused());
    emit pausedChanged(engine.paused());
}

void FrontSource::open(const QString& source, const std::optional<QString>& name) {
    clear();
    m_parts.session->openSource(*m_engine, source, name);
    updateRegions();
    m_parts.timeline->view()->setPaused(false);
    emit pausedChanged(false);
}

void FrontSource::begin() {
    clear();
    updateRegions();
}

void FrontSource::clear() {
    m_parts.views->clear();
    m_parts.models->statistics.clear();
    m_parts.models->legend.setShares({});
    m_parts.models->saved.clear();
    m_parts.models->objects.clear();
    m_parts.models->schedule.setTokens({});
    m_parts.models->health.clear();
    m_parts.header->clear();
    m_parts.models->timeline.clear();
    m_report = {};
    m_parts.playback->clear();
    m_sinceComparison.invalidate();
    m_framesBefore = 0;
}

void FrontSource::connectImages(QObject* link) {
    connect(m_engine, &Engine::framed, link,
            [this](const LiveFrame& frame) { m_parts.views->setFrame(frame); });
    connect(m_engine, &Engine::rendered, link, [this](const RenderedFrame& drawn) {
        m_parts.views->setRendered(drawn);
        m_parts.models->health.setDraw(drawn.drawMs, m_parts.views->displayMs());
    });
    connect(m_engine, &Engine::compared, link, [this](const RenderedComparison& drawn) {
        if (m_engine->isBeforeChange(*drawn.comparison->analysis)) return;
        SavedTime& saved = m_parts.models->saved;
        const bool whole = drawn.comparison->with.empty();
        if (whole) saved.add(*drawn.comparison);
        m_parts.views->setComparison(drawn, saved);
        if (!whole) return;
        m_parts.header->setSaved(saved);
        m_parts.guide->setComparison(*drawn.comparison, saved);
    });
    connect(m_engine, &Engine::nightSimulated, link,
            [this](const RenderedNight& drawn) { m_parts.views->setNight(drawn); });
}

void FrontSource::connectEvents(QObject* link) {
    connect(m_engine, &Engine::measured, link, [this](const auto& measurement, const AnalysisPtr& analysis) {
        onMeasured(measurement, analysis);
    });
    connect(m_engine, &Engine::sourceReported, link,
            [this](const SourceReport& report) { setReport(report); });
    connect(m_engine, &Engine::happened, link,
            [this](const pipeline::Event& event) { m_parts.models->timeline.addEvent(event); });
    connect(m_engine, &Engine::imageSkipped, link, [this](const pipeline::SourceProblem& problem) {
        emit messagePosted(tr("Skipped: %1").arg(sourceProblemText(problem)), true);
    });
    connect(m_engine, &Engine::crashed, link, [this](const QString& message) {
        emit messagePosted(tr("A part of the monitor stopped; start it again: %1").arg(message), true);
    });
}

void FrontSource::connectRecorder(QObject* link) {
    Recorder& recorder = m_engine->recorder();
    HealthModel& health = m_parts.models->health;
    if (recorder.readOnly())
        health.setStore(tr("read only: %1").arg(recorder.path()), HealthModel::Warning);
    else
        health.setStore(recorder.path(), HealthModel::Good);
    connect(&recorder, &Recorder::historyLoaded, link,
            [this](const HistoryPtr& history) { m_parts.models->timeline.setHistory(*history); });
    connect(&recorder, &Recorder::compared, link, [this](const StoredComparisonPtr& comparison) {
        m_parts.models->statistics.setStored(*comparison);
        m_parts.header->setDayNight(m_parts.models->statistics.statistics());
    });
    connect(&recorder, &Recorder::failing, link, [this, &health](const QString& message) {
        health.setStore(message, HealthModel::Bad);
        emit messagePosted(tr("Measurements are not kept: %1").arg(message), true);
    });
    connect(&recorder, &Recorder::replaced, link,
            [this](const QString& message) { emit messagePosted(message, true); });
    connect(&recorder, &Recorder::recovered, link, [this, &health, &recorder] {
        health.setStore(recorder.path(), HealthModel::Good);
        emit messagePosted(tr("Measurements are kept again"));
    });
    connect(&recorder, &Recorder::exported, link, [this](const QString& file, qint64 rows) {
        emit messagePosted(tr("%1 measurements written to %2").arg(rows).arg(file));
    });
    connect(&recorder, &Recorder::exportFailed, link, [this](const QString& file, const QString& message) {
        emit messagePosted(tr("%1: %2").arg(file, message), true);
    });
}

void FrontSource::onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis) {
    Models& models = *m_parts.models;
    Session& session = *m_parts.session;
    ++m_analysed;
    // Ignores results of the previous model, because the panels already show the classes of the new model.
    if (analysis->model->path != session.network().facts()->path) return;
    models.schedule.setTokens(analysis->merged.tokens.tokens);
    models.legend.setShares(analysis->shares);
    models.health.setAnalysis(measurement, *analysis);
    if (!models.saved.isOf(*analysis)) {
        models.saved.clear();
        m_parts.header->setSaved({});
    }
    m_parts.header->setAnalysis(*analysis);
    m_parts.guide->setAnalysis(*analysis, models.saved);
    const ReuseState reuse = analysis->merged.tokens.reuse.state;
    m_parts.timeline->view()->setStages(analysis->schedule, reuse != ReuseState::Off);
    m_parts.sidebar->schedule()->setReuse(reuse);
    m_parts.views->setAnalysisCover({});
    models.objects.setObjects(analysis);
    m_parts.views->setObjects(analysis);
    models.regions.setReadings(analysis->regions, analysis->model->labels);
    m_parts.views->setRegions(session.services().settings().of(m_engine->sourceName()).regions,
                              analysis->regions);
    const pipeline::Setup before = models.statistics.setup();
    if (!(measurement.setup == before)) compareAgain(measurement.setup);
    if (measurement.setup.model != before.model) emit modelMeasured();
    if (analysis->repeat) return;  // a repeat is not a new measurement
    models.statistics.add(measurement);
    m_parts.header->setDayNight(models.statistics.statistics());
    models.timeline.add(measurement);
    m_parts.playback->add(measurement);
}

/// Compares day and night over the stored readings of the chosen span. Adds readings that arrive meanwhile.
void FrontSource::compareAgain(const pipeline::Setup& setup) {
    m_parts.models->statistics.begin(setup);
    m_sinceComparison.restart();
    const int hours = m_parts.session->state().comparedHours;
    const pipeline::Millis now(QDateTime::currentMSecsSinceEpoch());
    m_engine->recorder().compare(setup, hours > 0 ? now - std::chrono::hours(hours) : pipeline::Millis(0));
}

void FrontSource::setComparedHours(int hours) {
    if (std::exchange(m_parts.session->state().comparedHours, hours) == hours) return;
    compareAgain(m_parts.models->statistics.setup());
}

void FrontSource::setReport(const SourceReport& report) {
    m_report = report;
    m_parts.views->setSource(report, m_engine->paused());
    m_parts.header->setSource(report, m_engine->paused(), m_engine->sourceName());
    m_parts.guide->setSource(report);
    m_parts.views->setCorner(tr("%1: %2 (F11 ends)").arg(shownTitle(report.name), sourceStateText(report)),
                             !report.current() && !m_engine->paused());
    m_parts.playback->setReport(report, m_engine->paused());
    m_parts.models->health.setSource(report);
}

void FrontSource::setPaused(bool paused) {
    m_engine->setPaused(paused);
    m_parts.views->setSource(m_report, paused);
    m_parts.header->setSource(m_report, paused, m_engine->sourceName());
    m_parts.playback->setReport(m_report, paused);
    m_parts.timeline->view()->setPaused(paused);
    emit pausedChanged(paused);
}

void FrontSource::updateRegions() {
    const SourceWatch& watch = m_parts.session->services().settings().of(m_engine->sourceName());
    m_parts.models->regions.setRegions(watch.regions);
    m_parts.views->setRegions(watch.regions, {});
}

void FrontSource::updateRates() {
    const double seconds = double(m_sinceRates.restart()) / 1000;
    HealthModel& health = m_parts.models->health;
    if (seconds <= 0) return;
    const std::int64_t frames = m_report.status.frames;
    health.setRates(std::exchange(m_analysed, 0) / seconds,
                    double(frames - std::exchange(m_framesBefore, frames)) / seconds);
    health.updateAge();
    health.updateProcessor();
    m_parts.header->setStale(m_report.current() && !m_engine->paused() ? m_parts.models->saved.stale()
                                                                       : true);
    if (m_sinceComparison.isValid() && m_sinceComparison.hasExpired(kCompareAgain))
        compareAgain(m_parts.models->statistics.setup());  // some readings are now older than the span
}

}  // namespace mpm::gui
