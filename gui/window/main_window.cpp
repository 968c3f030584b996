#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QSplitter>
#include <QStatusBar>
#include <QVBoxLayout>

#include "gui/views/app_icon.hpp"
#include "gui/views/header_bar.hpp"
#include "gui/views/legend_view.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/schedule_view.hpp"
#include "gui/views/timeline_panel.hpp"
#include "gui/views/timeline_view.hpp"
#include "gui/window/actions.hpp"
#include "gui/window/sidebar.hpp"

namespace mpm::gui {

namespace {

/// The overview is for looking on: one comparison a second is enough there, and leaves the machine to
/// merging.
constexpr std::chrono::milliseconds kOverviewComparison{1'000};

}  // namespace

MainWindow::MainWindow(const Options& options, QWidget* parent)
    : QMainWindow(parent),
      m_profile(options.profile),
      m_state(m_profile.load()),
      m_engine(m_profile.storePath()) {
    setWindowTitle(QStringLiteral("MPM Monitor"));
    setWindowIcon(appIcon());
    setAcceptDrops(true);
    build();
    installActions(*this);
    connectEngine();
    connectRecorder();
    connectControls();
    restore(options);
    connect(&m_second, &QTimer::timeout, this, &MainWindow::onSecond);
    m_second.start(1000);
    m_sinceRates.start();
    m_restoring = false;
    if (m_state.rule) m_engine.setRule(*m_state.rule);
    m_engine.openModel(options.model.value_or(m_state.model));
    showSource(options.source.value_or(m_state.source));
    sendStyle();
    sendRequest();
}

MainWindow::~MainWindow() {
    m_engine.disconnect(this);
}

void MainWindow::build() {
    m_header = new HeaderBar;
    m_views = new ViewArea;
    m_timeline = new TimelinePanel(&m_timelineData);
    m_sidebar = new Sidebar({&m_schedule, &m_legend, &m_statistics, &m_health});
    m_timeSplit = new QSplitter(Qt::Vertical);
    m_timeSplit->addWidget(m_views);
    m_timeSplit->addWidget(m_timeline);
    m_timeSplit->setStretchFactor(0, 1);
    m_sideSplit = new QSplitter(Qt::Horizontal);
    m_sideSplit->addWidget(m_timeSplit);
    m_sideSplit->addWidget(m_sidebar);
    m_sideSplit->setStretchFactor(0, 1);
    m_sideSplit->setSizes({1000, 330});
    m_timeSplit->setSizes({1000, 185});
    for (QSplitter* split : {m_timeSplit, m_sideSplit}) {
        split->setHandleWidth(8);
        split->setChildrenCollapsible(false);
    }
    auto* central = new QWidget;
    auto* layout = new QVBoxLayout(central);
    layout->setContentsMargins(8, 4, 8, 4);
    layout->setSpacing(8);
    layout->addWidget(m_header);
    layout->addWidget(m_sideSplit, 1);
    setCentralWidget(central);
    statusBar()->setSizeGripEnabled(false);
}

void MainWindow::restore(const Options& options) {
    setAppearance(options.theme.isEmpty() ? m_state.appearance : appearanceFrom(options.theme));
    resize(1440, 900);
    if (!m_state.geometry.isEmpty()) restoreGeometry(m_state.geometry);
    if (!options.size.isEmpty()) resize(options.size);
    m_sideSplit->restoreState(m_state.sideSplit);
    m_timeSplit->restoreState(m_state.timeSplit);
    m_sidebar->setFolded(m_state.foldedSections);
    m_views->setOpacity(m_state.opacity);
    m_views->setOutlines(m_state.outlines);
    m_views->nightView()->setParameters(m_state.request.night);
    const QString view = options.view.isEmpty() ? m_state.view : options.view;
    for (int mode = 0; mode < ViewArea::Modes; ++mode)
        if (ViewArea::modeKey(ViewArea::Mode(mode)) == view) m_views->setMode(ViewArea::Mode(mode));
}

void MainWindow::connectEngine() {
    connect(&m_engine, &Engine::framed, m_views, &ViewArea::setFrame);
    connect(&m_engine, &Engine::rendered, this, [this](const RenderedFrame& drawn) {
        m_views->setRendered(drawn);
        m_health.setDraw(drawn.drawMs, m_views->displayMs());
    });
    connect(&m_engine, &Engine::compared, this, [this](const RenderedComparison& drawn) {
        m_saved.add(*drawn.comparison);
        m_views->setComparison(drawn, m_saved);
        m_header->setSaved(m_saved);
    });
    connect(&m_engine, &Engine::nightSimulated, m_views, &ViewArea::setNight);
    connect(&m_engine, &Engine::measured, this, &MainWindow::onMeasured);
    connect(&m_engine, &Engine::sourceReported, this, &MainWindow::onSource);
    connect(&m_engine, &Engine::happened, &m_timelineData, &TimelineData::addEvent);
    connect(&m_engine, &Engine::modelLoading, this, [this](const QString& model) {
        m_health.setModel(tr("loading %1").arg(model), HealthModel::Warning);
        if (!m_facts) m_views->setAnalysisVeil(tr("Loading the model"), model);
    });
    connect(&m_engine, &Engine::modelLoaded, this, &MainWindow::onModel);
    connect(&m_engine, &Engine::modelFailed, this, &MainWindow::onModelFailed);
    connect(&m_engine, &Engine::networkFailed, this, [this](const QString& message) {
        m_views->setAnalysisVeil(tr("The network stopped"), message);
        m_health.setModel(tr("stopped: %1").arg(message), HealthModel::Bad);
    });
}

void MainWindow::connectRecorder() {
    Recorder& recorder = m_engine.recorder();
    m_health.setStore(recorder.path(), HealthModel::Good);
    connect(&recorder, &Recorder::historyLoaded, this,
            [this](const HistoryPtr& history) { m_timelineData.setHistory(*history); });
    connect(&recorder, &Recorder::failing, this, [this](const QString& message) {
        m_health.setStore(message, HealthModel::Bad);
        say(tr("Measurements are not kept: %1").arg(message), true);
    });
    connect(&recorder, &Recorder::recovered, this, [this] {
        m_health.setStore(m_engine.recorder().path(), HealthModel::Good);
        say(tr("Measurements are kept again"));
    });
    connect(&recorder, &Recorder::exported, this, [this](const QString& file, qint64 rows) {
        say(tr("%1 measurements written to %2").arg(rows).arg(file));
    });
    connect(&recorder, &Recorder::exportFailed, this, [this](const QString& file, const QString& message) {
        say(tr("%1: %2").arg(file, message), true);
    });
}

void MainWindow::connectControls() {
    connect(&m_schedule, &ScheduleModel::scheduleChanged, this, [this](const std::vector<int>& schedule) {
        if (!m_facts) return;
        m_saved.clear();
        m_statistics.clear();  // counts under two schedules have no common mean
        m_state.ownSchedule = false;
        m_state.request.schedule = schedule;
        m_engine.noteEvent(QStringLiteral("schedule"), scheduleText(schedule));
        sendRequest();
    });
    connect(&m_legend, &LegendModel::styleChanged, this, &MainWindow::sendStyle);
    connect(m_views, &ViewArea::styleChanged, this, &MainWindow::sendStyle);
    connect(m_views, &ViewArea::modeChanged, this, &MainWindow::sendRequest);
    connect(m_views, &ViewArea::nightChanged, this, [this](const pipeline::NightParameters& night) {
        m_state.request.night = night;
        sendRequest();
    });
    connect(m_views, &ViewArea::scoresWanted, this, [this](bool wanted) {
        if (std::exchange(m_scores, wanted) != wanted) sendRequest();
    });
}

void MainWindow::sendRequest() {
    if (m_restoring) return;
    Request& request = m_state.request;
    const ViewArea::Mode mode = m_views->mode();
    request.compare = (mode == ViewArea::Overview || mode == ViewArea::Split) && !request.schedule.empty();
    request.compareInterval = mode == ViewArea::Overview ? kOverviewComparison : std::chrono::milliseconds(0);
    request.simulateNight = mode == ViewArea::Night;
    request.scores = m_scores;
    m_engine.setRequest(request);
}

void MainWindow::sendStyle() {
    if (m_restoring) return;
    RenderStyle style;
    style.overlay.opacity = m_views->opacity();
    style.overlay.outlines = m_views->outlines();
    style.overlay.hidden = m_legend.hidden();
    style.palette = m_legend.palette();
    style.merge.outlines = m_views->outlines();
    style.stage = m_views->stage();
    style.pair = m_views->nightView()->shows();
    m_engine.setStyle(style);
}

void MainWindow::openSource(const QString& source) {
    m_state.source = source;
    showSource(source);
}

void MainWindow::showSource(const QString& source) {
    m_views->clear();
    m_statistics.clear();
    m_timelineData.clear();
    m_report = {};
    m_framesBefore = 0;
    m_engine.openSource(source);
    emit pausedChanged(false);
}

void MainWindow::openModel(const QString& model) {
    m_wantedModel = model;
    m_engine.openModel(model);
}

void MainWindow::setPaused(bool paused) {
    m_engine.setPaused(paused);
    m_views->setSource(m_report, paused);
    m_header->setSource(m_report, paused);
    emit pausedChanged(paused);
}

void MainWindow::setAppearance(Appearance appearance) {
    m_state.appearance = appearance;
    applyAppearance(*qobject_cast<QApplication*>(QCoreApplication::instance()), appearance);
}

void MainWindow::setInterval(int milliseconds) {
    m_state.request.interval = std::chrono::milliseconds(milliseconds);
    sendRequest();
}

void MainWindow::setRule(const pipeline::DayNightRule& rule) {
    m_state.rule = rule;
    m_engine.setRule(rule);
}

void MainWindow::exportCsv(const QString& file) {
    const TimelineView* view = m_timeline->view();
    m_engine.recorder().exportCsv(file, pipeline::Millis(view->from()), pipeline::Millis(view->to() + 1));
}

void MainWindow::say(const QString& text, bool trouble) {
    statusBar()->showMessage(text, trouble ? 0 : 8000);
}

QString MainWindow::message() const {
    return statusBar()->currentMessage();
}

}  // namespace mpm::gui
