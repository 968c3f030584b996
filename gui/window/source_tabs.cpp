#include "gui/window/source_tabs.hpp"

#include "gui/dialogs/questions.hpp"
#include "gui/text/plain_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

SourceTabs::SourceTabs(const Parts& parts, FrontSource* front) : m_parts(parts), m_front(front) {
    setTabsClosable(true);
    setDocumentMode(true);
    setExpanding(false);
    setElideMode(Qt::ElideMiddle);
    setAccessibleName(tr("Sources"));
    hide();  // a single source needs no tabs
    connect(this, &QTabBar::currentChanged, this, &SourceTabs::select);
    connect(this, &QTabBar::tabCloseRequested, this, &SourceTabs::close);
    connect(this, &QTabBar::tabBarDoubleClicked, this, &SourceTabs::askForName);
    connect(m_parts.session, &Session::watchChanged, this, &SourceTabs::updateNames);
    Sources& sources = m_parts.session->sources();
    connect(&sources, &Sources::added, this, &SourceTabs::addTab);
    connect(&sources, &Sources::opened, this, [this](const Engine& engine) {
        if (m_front->is(engine)) m_front->begin();
        updateNames();
        emit sourcesChanged();
    });
    connect(&sources, &Sources::rejected, this, [this](const Engine& engine, const SourceReport& report) {
        if (m_front->is(engine)) m_front->setReport(report);
        m_parts.views->setTileState(&engine, report, false);
        updateNames();
    });
    connect(m_parts.views, &ViewArea::tileChosen, this, [this](const Engine* engine) {
        select(m_parts.session->sources().indexOf(*engine));
        m_parts.views->showView(0);
    });
}

/// Adds a tab, and a tile to the grid. The tile shows the newest overlay. A cover marks a stale overlay.
void SourceTabs::addTab(Engine& engine) {
    const QSignalBlocker block(this);
    QTabBar::addTab(QString());
    setVisible(count() > 1);
    m_parts.views->addTile(&engine);
    connect(&engine, &Engine::rendered, this,
            [this, &engine](const RenderedFrame& drawn) { m_parts.views->setTile(&engine, drawn); });
    connect(&engine, &Engine::sourceReported, this, [this, &engine](const SourceReport& report) {
        m_parts.views->setTileState(&engine, report, engine.paused());
    });
}

void SourceTabs::select(int index) {
    Sources& sources = m_parts.session->sources();
    if (index < 0 || index >= sources.count() || m_front->is(sources.at(index))) return;
    m_front->select(sources.at(index));
    const QSignalBlocker block(this);
    setCurrentIndex(index);
    emit sourcesChanged();
}

void SourceTabs::open(const QString& source, const std::optional<QString>& name) {
    m_front->open(source, name);
    updateNames();
}

void SourceTabs::add(const QString& source, const std::optional<QString>& name) {
    m_parts.session->addSource(source, name);
    select(count() - 1);
}

void SourceTabs::close(int index) {
    Sources& sources = m_parts.session->sources();
    if (sources.count() < 2 || index < 0 || index >= sources.count()) return;
    m_parts.views->removeTile(&sources.at(index));
    if (m_front->is(sources.at(index))) select(index == 0 ? 1 : 0);
    m_parts.session->closeSource(index);
    const QSignalBlocker block(this);
    removeTab(index);
    setVisible(count() > 1);
    updateNames();
    emit sourcesChanged();
}

void SourceTabs::askForName(int index) {
    Sources& sources = m_parts.session->sources();
    if (index < 0 || index >= sources.count()) return;
    const QString source = sources.at(index).sourceName();
    const auto check = [session = m_parts.session, source](const QString& name) {
        return session->isNameFree(name, source) ? QString() : tr("Another source has this name");
    };
    const auto rename = [this, source](const QString& name) {
        for (const auto& engine : m_parts.session->sources().engines())
            if (engine->sourceName() == source) return m_parts.session->nameSource(*engine, name);
    };
    gui::askForName(*this, tr("Name of the source"), m_parts.session->services().settings().of(source).name,
                    tr("Such as Front door; empty: %1").arg(shownTitle(source)), check, rename);
}

void SourceTabs::updateNames() {
    Sources& sources = m_parts.session->sources();
    const QSignalBlocker block(this);
    for (int i = 0; i < sources.count(); ++i) {
        const Engine& engine = sources.at(i);
        const QString shown = shownTitle(engine.title());
        const bool named = engine.title() != engine.sourceName();
        setTabText(i, QString(shown).replace(QLatin1Char('&'), QStringLiteral("&&")));
        setTabToolTip(i, plainToolTip(named ? tr("%1: %2").arg(shown, engine.sourceName()) : shown));
        if (m_front->is(sources.at(i))) setCurrentIndex(i);
    }
}

}  // namespace mpm::gui
