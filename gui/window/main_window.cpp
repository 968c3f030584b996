#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QSplitter>
#include <QStatusBar>
#include <QVBoxLayout>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/panels/guide_strip.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/playback_bar.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/views/night_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/views/view_controls.hpp"
#include "gui/widgets/app_icon.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/side_split.hpp"
#include "gui/window/actions.hpp"

namespace mpm::gui {

namespace {

/// Shortest time between two comparisons in views with the flag ComparesSlowly.
constexpr std::chrono::milliseconds kSlowComparison{1'000};

}  // namespace

MainWindow::MainWindow(const Options& options, QWidget* parent) : QMainWindow(parent), m_session(options) {
    const QString title =
        m_session.readOnlyReason().isEmpty() ? QStringLiteral("MPM Monitor") : tr("MPM Monitor (read only)");
    setWindowTitle(options.profile == Options().profile ? title : tr("%1 – %2").arg(options.profile, title));
    setWindowIcon(appIcon());
    setAcceptDrops(true);
    makeParts();
    makeControllers();
    arrange();
    m_front->select(m_session.sources().add());
    connectControls();
    m_watch->start();
    installActions(*this);
    restore();
    connect(&m_second, &QTimer::timeout, this, [this] {
        m_front->updateRates();
        save();
    });
    m_second.start(1000);
    m_restoring = false;
    m_session.start();
    sendStyle();
    sendRequest();
}

MainWindow::~MainWindow() {
    // Disconnects the signals first, because the session and its engines are deleted after the objects that
    // receive these signals.
    m_front.reset();
    m_session.disconnect();
    m_session.network().disconnect();
    m_session.services().disconnect();
}

void MainWindow::makeParts() {
    m_parts.session = &m_session;
    m_parts.models = &m_models;
    m_parts.views = new ViewArea;
    m_parts.header = new HeaderBar;
    m_parts.guide = new GuideStrip;
    m_parts.playback = new PlaybackBar;
    m_parts.timeline = new TimelinePanel(&m_models.timeline);
    m_parts.sidebar = new Sidebar(m_models);
    m_parts.conversion = new ConversionBar;
}

void MainWindow::makeControllers() {
    m_front = std::make_unique<FrontSource>(m_parts);
    m_tabs = new SourceTabs(m_parts, m_front.get());
    m_model = std::make_unique<ModelControl>(m_parts, this);
    m_tune = std::make_unique<TuneControl>(m_parts, m_front.get(), m_model.get(), this);
    m_watch = std::make_unique<WatchControl>(m_parts, m_front.get());
    m_exports = std::make_unique<Exports>(m_parts, m_front.get());
    m_lanes = std::make_unique<LaneControl>(m_parts, m_front.get());
    connect(m_lanes.get(), &LaneControl::messagePosted, this, &MainWindow::showMessage);
    connect(&m_session, &Session::messagePosted, this, &MainWindow::showMessage);
    connect(m_front.get(), &FrontSource::messagePosted, this, &MainWindow::showMessage);
    connect(m_model.get(), &ModelControl::messagePosted, this, &MainWindow::showMessage);
    connect(m_tune.get(), &TuneControl::messagePosted, this, &MainWindow::showMessage);
    connect(m_watch.get(), &WatchControl::messagePosted, this, &MainWindow::showMessage);
    connect(m_exports.get(), &Exports::messagePosted, this, &MainWindow::showMessage);
}

void MainWindow::arrange() {
    m_timeSplit = new QSplitter(Qt::Vertical);
    auto* above = new QWidget;
    auto* column = new QVBoxLayout(above);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_parts.views, 1);
    column->addWidget(m_parts.playback);
    m_timeSplit->addWidget(above);
    m_timeSplit->addWidget(m_parts.timeline);
    m_timeSplit->setStretchFactor(0, 1);
    m_sideSplit = new SideSplit(m_timeSplit, m_parts.sidebar);
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
    layout->addWidget(m_parts.header);
    layout->addWidget(m_parts.guide);
    layout->addWidget(m_tabs);
    layout->addWidget(m_sideSplit, 1);
    setCentralWidget(central);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addPermanentWidget(m_parts.conversion);
}

void MainWindow::connectControls() {
    PlaybackBar* playback = m_parts.playback;
    connect(playback, &PlaybackBar::pauseWanted, m_front.get(), &FrontSource::setPaused);
    connect(playback, &PlaybackBar::stepWanted, this, &MainWindow::step);
    connect(playback, &PlaybackBar::commanded, this,
            [this](const auto& command) { engine().command(command); });
    connect(m_tabs, &SourceTabs::sourcesChanged, this, [this] {
        m_watch->sourcesChanged();
        sendRequest();
    });
    connect(m_parts.timeline, &TimelinePanel::tallWanted, this,
            [this](bool tall) { m_timeSplit->widget(0)->setVisible(!tall); });
    connect(m_parts.timeline->view(), &TimelineView::momentChosen, m_parts.timeline, &TimelinePanel::endTall);
    connect(m_parts.views, &ViewArea::viewChanged, m_parts.timeline, &TimelinePanel::endTall);
    connect(m_parts.sidebar, &Sidebar::momentChosen, m_parts.timeline, &TimelinePanel::endTall);
    connect(m_model.get(), &ModelControl::changed, this, [this] {
        sendRequest();
        sendStyle();
    });
    connect(m_parts.sidebar, &Sidebar::comparedHoursChosen, m_front.get(), &FrontSource::setComparedHours);
    connect(m_parts.sidebar, &Sidebar::momentChosen, m_parts.timeline->view(), &TimelineView::showMoment);
    connect(&m_session, &Session::watchChanged, this, &MainWindow::sendRequest);
    connect(m_parts.views, &ViewArea::reuseWanted, this, &MainWindow::setReuse);
    connect(m_parts.guide, &GuideStrip::reuseWanted, this, &MainWindow::setReuse);
    connect(m_parts.guide, &GuideStrip::mergeWanted, this,
            [this] { m_parts.views->showView(QStringLiteral("merge")); });
    connect(&m_models.legend, &LegendModel::styleChanged, this, &MainWindow::sendStyle);
    connect(m_parts.views, &ViewArea::styleChanged, this, &MainWindow::sendStyle);
    connect(m_parts.views, &ViewArea::viewChanged, this, [this] {
        m_watch->updateDrawn();
        sendRequest();
    });
    connect(&m_parts.views->controls(), &ViewControls::otherChanged, this, &MainWindow::sendRequest);
    connect(m_parts.views, &ViewArea::nightChanged, this, [this](const street::NightParameters& night) {
        m_night.reset();
        m_session.state().request.night = night;
        sendRequest();
    });
    connect(m_parts.views, &ViewArea::scoresWanted, this, [this](bool wanted) {
        if (std::exchange(m_scores, wanted) != wanted) sendRequest();
    });
}

void MainWindow::restore() {
    const Options& options = m_session.options();
    const ProfileState& state = m_session.state();
    showAppearance(appearanceFrom(options.theme.isEmpty() ? state.theme : options.theme));
    resize(1440, 900);
    // A size on the command line applies even if the window was maximised when it closed.
    if (!state.geometry.isEmpty() && options.size.isEmpty()) restoreGeometry(state.geometry);
    // The size may have been stored on a larger screen, and Qt accepts a size that is a little too large.
    resize(size().boundedTo(screen()->availableSize()));
    if (!options.size.isEmpty()) resize(options.size);
    m_sideSplit->restoreState(state.sideSplit);
    m_sideSplit->setPanelWanted(state.sidePanel);
    m_timeSplit->restoreState(state.timeSplit);
    m_parts.sidebar->setFolded(state.foldedSections);
    m_parts.sidebar->setComparedHours(state.comparedHours);
    m_parts.views->controls().setOpacity(state.opacity);
    m_parts.views->controls().setOutlines(state.outlines);
    m_parts.views->controls().setMapColours(state.mapColours);
    m_night = options.night;
    m_parts.views->find<NightView>()->setParameters(m_night.value_or(state.request.night));
    m_parts.views->setReuse(state.request.reuse);
    m_parts.guide->setDismissed(state.guideDismissed);
    m_parts.views->showView(options.view.isEmpty() ? state.view : options.view);
}

/// Asks each engine for the data that the current view needs.
void MainWindow::sendRequest() {
    if (m_restoring) return;
    Request& request = m_session.state().request;
    const ViewEntry& view = m_parts.views->entry();
    m_parts.views->controls().setOtherEnabled(!request.reuse);  // with reuse, neither side merges
    request.compareWith = view.has(ViewEntry::ChoosesOther) && !request.reuse
                              ? m_parts.views->controls().other()
                              : std::vector<int>();
    request.compare =
        view.has(ViewEntry::NeedsComparison) &&
        (request.reuse || !m_models.schedule.schedule().empty() || !request.compareWith.empty());
    m_parts.views->find<SplitView>()->setOther(request.compareWith);
    request.compareInterval =
        view.has(ViewEntry::ComparesSlowly) ? kSlowComparison : std::chrono::milliseconds(0);
    // For the built-in street, the overview shows the effect of reuse even if reuse is off.
    request.reuseBeside =
        m_parts.views->shown() == 0 && !request.reuse && engine().sourceName() == QStringLiteral("demo");
    request.simulateNight = view.has(ViewEntry::NeedsNight);
    request.scores = m_scores || m_session.state().confidence;
    Request front = request, behind = request;
    front.night = m_night.value_or(request.night);
    behind.compare = behind.reuseBeside = behind.simulateNight = behind.scores = false;
    for (const auto& engine : m_session.sources().engines())
        engine->setRequest(m_session.services().requestFor(*engine, m_front->is(*engine) ? front : behind));
}

void MainWindow::sendStyle() {
    if (m_restoring) return;
    RenderStyle style;
    m_parts.views->fill(style);
    style.overlay.confidence = m_session.state().confidence;
    style.overlay.hidden = m_models.legend.hidden();
    style.palette = m_models.legend.palette();
    for (const auto& engine : m_session.sources().engines())
        engine->setStyle(style);
}

void MainWindow::setAppearance(Appearance appearance) {
    m_session.state().theme = appearanceName(appearance);
    showAppearance(appearance);
}

void MainWindow::showAppearance(Appearance appearance) {
    m_appearance = appearance;
    applyAppearance(*qobject_cast<QApplication*>(QCoreApplication::instance()), appearance);
}

void MainWindow::setSafePalette(bool safe) {
    m_model->setSafePalette(safe);
    // Some colours of the safe palette may look alike, so outlines show where a class ends.
    if (safe && m_model->loaded()) m_parts.views->controls().setOutlines(true);
}

void MainWindow::setConfidence(bool on) {
    m_session.state().confidence = on;
    sendRequest();
    sendStyle();
}

void MainWindow::setInterval(int milliseconds) {
    m_session.state().request.interval = std::chrono::milliseconds(milliseconds);
    sendRequest();
}

void MainWindow::step(int direction) {
    if (!engine().paused()) m_front->setPaused(true);
    engine().command([direction](pipeline::Reader& reader) { reader.step(direction); });
}

void MainWindow::setReuse(bool on) {
    if (std::exchange(m_session.state().request.reuse, on) == on) return;
    for (const auto& engine : m_session.sources().engines())
        engine->noteEvent(QStringLiteral("schedule"),
                          on ? QStringLiteral("reuse") : QStringLiteral("reuse off"));
    sendRequest();
    m_parts.views->setReuse(on);
    emit reuseChanged(on);
}

void MainWindow::setRule(const pipeline::DayNightRule& rule) {
    m_session.state().rule = rule;
    for (const auto& engine : m_session.sources().engines())
        engine->setRule(rule);
}

void MainWindow::showMessage(const QString& text, bool trouble) {
    setMark(*statusBar(), "trouble", trouble);
    m_message = text;
    setPlainToolTip(statusBar(), text);
    const QFontMetrics metrics = statusBar()->fontMetrics();
    const int room = isVisible() ? statusBar()->width() - 2 * metrics.averageCharWidth() : QWIDGETSIZE_MAX;
    statusBar()->showMessage(metrics.elidedText(text, Qt::ElideRight, room), trouble ? 0 : 8000);
}

QString MainWindow::message() const {
    return statusBar()->currentMessage().isEmpty() ? QString() : m_message;
}

void MainWindow::save() {
    ProfileState& state = m_session.state();
    state.opacity = m_parts.views->controls().opacity();
    state.outlines = m_parts.views->controls().outlines();
    state.mapColours = m_parts.views->controls().mapColours();
    state.guideDismissed = m_parts.guide->dismissed();
    // Saves the view and the size only if they differ from the view and the size on the command line.
    const Options& options = m_session.options();
    const QString view = QLatin1String(m_parts.views->entry().key);
    if (view != options.view) state.view = view;
    if (size() != options.size) state.geometry = saveGeometry();
    state.sideSplit = m_sideSplit->saveState();
    state.sidePanel = m_sideSplit->panelWanted();
    state.timeSplit = m_timeSplit->saveState();
    state.foldedSections = m_parts.sidebar->folded();
    if (m_model->loaded()) m_model->noteHiddenClasses(state.hiddenClasses);
    m_session.save();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

/// Opens a file that ends in .onnx as a model, anything else as a source.
void MainWindow::dropEvent(QDropEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.isEmpty()) return;
    const QString name = urls.first().isLocalFile() ? urls.first().toLocalFile() : urls.first().toString();
    if (name.endsWith(QLatin1String(".onnx"), Qt::CaseInsensitive))
        m_model->open(name);
    else
        m_tabs->open(name);
    event->acceptProposedAction();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::WindowStateChange && m_sideSplit != nullptr) showImagesOnly(isFullScreen());
}

/// If `only`, shows only the images, for a full-screen window. The guide strip and the playback bar
/// themselves check whether the window is full-screen.
void MainWindow::showImagesOnly(bool only) {
    m_parts.views->setImagesOnly(only);
    m_sideSplit->setBare(only);
    if (only) m_parts.timeline->endTall();
    for (QWidget* part : std::initializer_list<QWidget*>{m_parts.header, m_parts.timeline, statusBar()})
        part->setVisible(!only);
    m_tabs->setVisible(!only && m_tabs->count() > 1);
    m_parts.guide->setDismissed(m_parts.guide->dismissed());
    if (only) m_parts.playback->hide();
    menuBar()->setMaximumHeight(only ? 0 : QWIDGETSIZE_MAX);  // a hidden menu would disable its shortcuts
    const int edge = only ? 0 : 4;
    centralWidget()->layout()->setContentsMargins(2 * edge, edge, 2 * edge, edge);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_model->cancelConversion();
    m_tune->cancel();
    save();
    event->accept();
}

}  // namespace mpm::gui
