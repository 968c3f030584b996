#include "gui/window/source_tabs.hpp"

#include "gui/text/plain_text.hpp"
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
    Sources& sources = m_parts.session->sources();
    connect(&sources, &Sources::added, this, &SourceTabs::addTab);
    connect(&sources, &Sources::opened, this, [this](const Engine& engine) {
        if (m_front->is(engine)) m_front->updateRegions();
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

/// A tile of the grid shows the newest overlay of the source, and marks a stale overlay.
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

void SourceTabs::open(const QString& source) {
    m_front->open(source);
    updateNames();
}

void SourceTabs::add(const QString& source) {
    m_parts.session->addSource(source);
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

void SourceTabs::updateNames() {
    Sources& sources = m_parts.session->sources();
    const QSignalBlocker block(this);
    for (int i = 0; i < sources.count(); ++i) {
        const QString& name = sources.at(i).sourceName();
        const QString shown = name == QStringLiteral("demo") ? tr("Built-in street") : name;
        setTabText(i, shown);
        setTabToolTip(i, plainToolTip(shown));
        if (m_front->is(sources.at(i))) setCurrentIndex(i);
    }
}

}  // namespace mpm::gui
