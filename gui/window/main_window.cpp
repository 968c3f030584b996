#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QScreen>
#include <QSplitter>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/legend_view.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/night_view.hpp"
#include "gui/widgets/app_icon.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/window/actions.hpp"

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
      m_dayCycle(options.dayCycle),
      m_services(options.profile, m_profile.videosPath()) {
    setWindowTitle(QStringLiteral("MPM Monitor"));
    setWindowIcon(appIcon());
    setAcceptDrops(true);
    build();
    makeEngine();
    select(0);
    installActions(*this);
    connectControls();
    connectServices();
    restore(options);
    connect(&m_second, &QTimer::timeout, this, &MainWindow::onSecond);
    m_second.start(1000);
    m_sinceRates.start();
    m_restoring = false;
    m_network.openModel(options.model.value_or(m_state.model));
    showSource(options.source.value_or(m_state.source));
    if (!options.source)
        for (const QString& further : m_services.settings().further)
            openIn(makeEngine(), further);
    nameTabs();
    sendStyle();
    sendRequest();
}

MainWindow::~MainWindow() {
    m_link.reset();
    m_network.disconnect(this);
    m_services.disconnect(this);
}

void MainWindow::build() {
    m_header = new HeaderBar;
    m_views = new ViewArea;
    m_timeline = new TimelinePanel(&m_timelineData);
    m_sidebar = new Sidebar({&m_schedule, &m_legend, &m_statistics, &m_health, &m_alerts, &m_regions});
    m_tabs = new QTabBar;
    m_tabs->setTabsClosable(true);
    m_tabs->setDocumentMode(true);
    m_tabs->setExpanding(false);
    m_tabs->setElideMode(Qt::ElideMiddle);
    m_tabs->setAccessibleName(tr("Sources"));
    m_tabs->hide();  // one source needs none
    m_timeSplit = new QSplitter(Qt::Vertical);
    m_timeSplit->addWidget(m_views);
    m_timeSplit->addWidget(m_timeline);
    m_timeSplit->setStretchFactor(0, 1);
    m_sideSplit = new SideSplit(m_timeSplit, m_sidebar);
    m_sideSplit->setSizes({1000, 330});
    m_timeSplit->setSizes({1000, 185});
    for (QSplitter* split : std::initializer_list<QSplitter*>{m_timeSplit, m_sideSplit}) {
        split->setHandleWidth(8);
        split->setChildrenCollapsible(false);
    }
    auto* central = new QWidget;
    auto* layout = new QVBoxLayout(central);
    layout->setContentsMargins(8, 4, 8, 4);
    layout->setSpacing(8);
    layout->addWidget(m_header);
    layout->addWidget(m_tabs);
    layout->addWidget(m_sideSplit, 1);
    setCentralWidget(central);
    statusBar()->setSizeGripEnabled(false);
    m_conversion = new ConversionBar;
    statusBar()->addPermanentWidget(m_conversion);
}

void MainWindow::restore(const Options& options) {
    setAppearance(options.theme.isEmpty() ? m_state.appearance : appearanceFrom(options.theme));
    resize(1440, 900);
    if (!m_state.geometry.isEmpty()) restoreGeometry(m_state.geometry);
    // The size may have been kept on a larger screen, and Qt leaves what is a little too large.
    resize(size().boundedTo(screen()->availableSize()));
    if (!options.size.isEmpty()) resize(options.size);
    m_sideSplit->restoreState(m_state.sideSplit);
    m_sideSplit->setPanelWanted(m_state.sidePanel);
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
    QObject* link = m_link.get();
    connect(m_engine, &Engine::framed, link, [this](const LiveFrame& frame) { m_views->setFrame(frame); });
    connect(m_engine, &Engine::rendered, link, [this](const RenderedFrame& drawn) {
        m_views->setRendered(drawn);
        m_health.setDraw(drawn.drawMs, m_views->displayMs());
    });
    connect(m_engine, &Engine::compared, link, [this](const RenderedComparison& drawn) {
        m_saved.add(*drawn.comparison);
        m_views->setComparison(drawn, m_saved);
        m_header->setSaved(m_saved);
    });
    connect(m_engine, &Engine::nightSimulated, link,
            [this](const RenderedNight& drawn) { m_views->setNight(drawn); });
    connect(m_engine, &Engine::measured, link, [this](const auto& measurement, const AnalysisPtr& analysis) {
        onMeasured(measurement, analysis);
    });
    connect(m_engine, &Engine::sourceReported, link,
            [this](const SourceReport& report) { onSource(report); });
    connect(m_engine, &Engine::happened, link,
            [this](const pipeline::Event& event) { m_timelineData.addEvent(event); });
    connect(m_engine, &Engine::imageSkipped, link, [this](const pipeline::SourceProblem& problem) {
        say(tr("Skipped: %1").arg(sourceProblemText(problem)), true);
    });
    connect(m_engine, &Engine::broke, link, [this](const QString& message) {
        say(tr("A part of the monitor stopped; start it again: %1").arg(message), true);
    });
}

void MainWindow::connectRecorder() {
    QObject* link = m_link.get();
    Recorder& recorder = m_engine->recorder();
    m_health.setStore(recorder.path(), HealthModel::Good);
    connect(&recorder, &Recorder::historyLoaded, link,
            [this](const HistoryPtr& history) { m_timelineData.setHistory(*history); });
    connect(&recorder, &Recorder::failing, link, [this](const QString& message) {
        m_health.setStore(message, HealthModel::Bad);
        say(tr("Measurements are not kept: %1").arg(message), true);
    });
    connect(&recorder, &Recorder::replaced, link, [this](const QString& message) { say(message, true); });
    connect(&recorder, &Recorder::recovered, link, [this] {
        m_health.setStore(m_engine->recorder().path(), HealthModel::Good);
        say(tr("Measurements are kept again"));
    });
    connect(&recorder, &Recorder::exported, link, [this](const QString& file, qint64 rows) {
        say(tr("%1 measurements written to %2").arg(rows).arg(file));
    });
    connect(&recorder, &Recorder::exportFailed, link, [this](const QString& file, const QString& message) {
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
        for (const auto& engine : m_engines)
            engine->noteEvent(QStringLiteral("schedule"), scheduleText(schedule));
        sendRequest();
    });
    connect(m_tabs, &QTabBar::currentChanged, this, &MainWindow::showSourceAt);
    connect(m_tabs, &QTabBar::tabCloseRequested, this, &MainWindow::closeSource);
    connect(&m_legend, &LegendModel::styleChanged, this, &MainWindow::sendStyle);
    connect(m_views, &ViewArea::styleChanged, this, &MainWindow::sendStyle);
    connect(m_views, &ViewArea::modeChanged, this, [this] {
        applyWatched();
        sendRequest();
    });
    connect(m_views, &ViewArea::nightChanged, this, [this](const street::NightParameters& night) {
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
    Request behind = request;
    behind.compare = behind.simulateNight = behind.scores = false;
    for (const auto& engine : m_engines)
        engine->setRequest(m_services.requestFor(*engine, engine.get() == m_engine ? request : behind));
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
    for (const auto& engine : m_engines)
        engine->setStyle(style);
}

void MainWindow::openModel(const QString& model) {
    m_wantedModel = model;
    m_network.openModel(model);
}

void MainWindow::setPaused(bool paused) {
    m_engine->setPaused(paused);
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
    for (const auto& engine : m_engines)
        engine->setRule(rule);
}

void MainWindow::say(const QString& text, bool trouble) {
    setMark(*statusBar(), "trouble", trouble);
    m_said = text;
    setPlainToolTip(statusBar(), text);
    const QFontMetrics metrics = statusBar()->fontMetrics();
    const int room = isVisible() ? statusBar()->width() - 2 * metrics.averageCharWidth() : QWIDGETSIZE_MAX;
    statusBar()->showMessage(metrics.elidedText(text, Qt::ElideRight, room), trouble ? 0 : 8000);
}

QString MainWindow::message() const {
    return statusBar()->currentMessage().isEmpty() ? QString() : m_said;
}

}  // namespace mpm::gui
