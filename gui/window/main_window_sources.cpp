// Several sources in one window: one is in front, all share the network.
#include <QPointer>
#include <QTabBar>

#include "gui/panels/header_bar.hpp"
#include "gui/text/plain_text.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui {

Engine& MainWindow::makeEngine() {
    m_engines.push_back(std::make_unique<Engine>(m_profile.storePath(), &m_network));
    Engine& engine = *m_engines.back();
    m_services.attach(engine);
    engine.setDayCycle(m_dayCycle);
    if (m_state.rule) engine.setRule(*m_state.rule);
    const QSignalBlocker quiet(m_tabs);
    m_tabs->addTab(QString());
    m_tabs->setVisible(m_engines.size() > 1);
    watchTile(engine);
    return engine;
}

/// Brings one to the front: everything but the tiles is about this one from now on.
void MainWindow::select(int index) {
    m_engine = m_engines.at(static_cast<std::size_t>(index)).get();
    m_link = std::make_unique<QObject>();
    m_views->clear();
    m_statistics.clear();
    m_legend.setShares({});
    m_saved.clear();
    m_timelineData.clear();
    m_framesBefore = m_engine->report().status.frames;
    connectEngine();
    connectRecorder();
    const QSignalBlocker quiet(m_tabs);
    m_tabs->setCurrentIndex(index);
    if (m_engine->sourceName().isEmpty()) return;
    m_engine->recorder().loadHistory();
    onSource(m_engine->report());
    updateRegions();
    applyWatched();
    sendRequest();
    emit pausedChanged(m_engine->paused());
    emit recordingChanged(m_services.recording(*m_engine));
}

void MainWindow::showSourceAt(int index) {
    if (index < 0 || index >= static_cast<int>(m_engines.size())) return;
    if (m_engines[static_cast<std::size_t>(index)].get() != m_engine) select(index);
}

void MainWindow::openSource(const QString& source) {
    const bool first = m_engine == m_engines.front().get();
    const pipeline::Address address(source.toStdString());
    m_stored[m_engine] = address.hasSecrets() ? QString::fromStdString(address.shown()) : source;
    if (!address.hasSecrets()) {
        if (first) m_state.source = source;
    } else if (!keychainName(source)) {
        const QString name = nameFor(address, m_engines, *m_engine);
        m_stored[m_engine] = storedAs(name);
        // The settings get the name only once the keychain has the rest.
        m_services.secrets().keep(name, source, [this, name, first](const QString& problem) {
            if (!problem.isEmpty())
                say(tr("The address is not kept, so this source will not come back: %1").arg(problem), true);
            else if (first)
                m_state.source = storedAs(name);
        });
    }
    showSource(source);
}

void MainWindow::showSource(const QString& source) {
    m_views->clear();
    m_statistics.clear();
    m_legend.setShares({});
    m_timelineData.clear();
    m_report = {};
    m_framesBefore = 0;
    openWithSecret(*m_engine, source);
    updateRegions();
    nameTabs();
    emit pausedChanged(false);
}

void MainWindow::openIn(Engine& engine, const QString& source) {
    openWithSecret(engine, source);
    nameTabs();
    applyWatched();
    sendRequest();
}

void MainWindow::openWithSecret(Engine& engine, const QString& source) {
    m_stored.try_emplace(&engine, source);
    const std::optional<QString> key = keychainName(source);
    if (!key) return startSource(engine, source, {});
    // Never tried without its password: some cameras lock out whoever guesses.
    const QPointer<Engine> target(&engine);
    m_services.secrets().find(
        *key, [this, target, key](const std::optional<QString>& whole, const QString& problem) {
            if (!target) return;
            if (whole) return startSource(*target, *whole, *key);
            refuseSource(*target, shownKey(*key),
                         {pipeline::SourceProblem::Kind::Other,
                          {},
                          {tr("Its address is not in the keychain (%1). Open the source again with it.")
                               .arg(problem)
                               .toStdString()}});
        });
}

/// `key`: of the keychain, empty where it did not come from there.
void MainWindow::startSource(Engine& engine, const QString& source, const QString& key) {
    try {
        const pipeline::Address address = addressOf(source);
        engine.openSource(address, nameOf(address, key, m_engines, engine), key);
    } catch (const pipeline::SourceError& error) {
        return refuseSource(engine, safeText(pipeline::Address(source.toStdString()).shown()),
                            error.problem());
    }
    m_services.sourceOpened(engine);
    if (&engine == m_engine) updateRegions();
    nameTabs();
}

void MainWindow::refuseSource(Engine& engine, const QString& name, const pipeline::SourceProblem& problem) {
    SourceReport report;
    report.name = name;
    report.kind = pipeline::SourceKind::Stream;
    report.status.state = pipeline::SourceState::Failed;
    report.status.problem = problem;
    if (&engine == m_engine) onSource(report);
    m_views->setTileState(&engine, report, false);
}

void MainWindow::addSource(const QString& source) {
    Engine& engine = makeEngine();
    const pipeline::Address address(source.toStdString());
    const bool secret = address.hasSecrets() && !keychainName(source);
    const QString name = nameFor(address, m_engines, engine);
    m_stored[&engine] = secret                 ? storedAs(name)
                        : address.hasSecrets() ? QString::fromStdString(address.shown())
                                               : source;
    WatchSettings watch = m_services.settings();
    watch.further << m_stored[&engine];
    setWatch(watch);
    if (secret)
        m_services.secrets().keep(name, source, [this](const QString& problem) {
            if (!problem.isEmpty())
                say(tr("The address is not kept, so this source will not come back: %1").arg(problem), true);
        });
    openIn(engine, source);
    select(static_cast<int>(m_engines.size()) - 1);
}

void MainWindow::closeSource(int index) {
    if (m_engines.size() < 2 || index < 0 || index >= static_cast<int>(m_engines.size())) return;
    const auto gone = m_engines.begin() + index;
    WatchSettings watch = m_services.settings();
    if (index == 0) m_state.source = m_stored[m_engines[1].get()];
    watch.further.removeOne(index == 0 ? m_state.source : m_stored[gone->get()]);
    m_stored.erase(gone->get());
    setWatch(watch);
    m_views->removeTile(gone->get());
    if (gone->get() == m_engine) select(index == 0 ? 1 : 0);
    m_services.detach(**gone);
    m_engines.erase(gone);
    const QSignalBlocker quiet(m_tabs);
    m_tabs->removeTab(index);
    m_tabs->setVisible(m_engines.size() > 1);
    nameTabs();
}

void MainWindow::nameTabs() {
    for (std::size_t i = 0; i < m_engines.size(); ++i) {
        const QString& name = m_engines[i]->sourceName();
        const QString shown = name == QStringLiteral("demo") ? tr("Built-in street") : name;
        m_tabs->setTabText(static_cast<int>(i), shown);
        m_tabs->setTabToolTip(static_cast<int>(i), plainToolTip(shown));
        if (m_engines[i].get() == m_engine) m_tabs->setCurrentIndex(static_cast<int>(i));
    }
}

/// A tile of the grid shows the newest overlay of its source, and never one that is not of now.
void MainWindow::watchTile(Engine& engine) {
    m_views->addTile(&engine);
    connect(&engine, &Engine::rendered, this,
            [this, &engine](const RenderedFrame& drawn) { m_views->setTile(&engine, drawn); });
    connect(&engine, &Engine::sourceReported, this, [this, &engine](const SourceReport& report) {
        m_views->setTileState(&engine, report, engine.paused());
    });
}

/// Nobody sees the pictures of a source that is neither in front nor in the grid: they are not drawn, unless
/// an alert may want them on a video.
void MainWindow::applyWatched() {
    const auto& alerts = m_services.settings().alerts;
    const bool recorded =
        std::any_of(alerts.begin(), alerts.end(), [](const auto& rule) { return rule.record; });
    const bool grid = m_views->mode() == ViewArea::Sources;
    for (const auto& engine : m_engines)
        engine->setWatched(grid || recorded || engine.get() == m_engine || m_services.recording(*engine));
}

}  // namespace mpm::gui
