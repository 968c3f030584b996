#include "gui/widgets/side_split.hpp"

#include <QEvent>

namespace mpm::gui {

SideSplit::SideSplit(QWidget* content, QWidget* panel, QWidget* parent)
    : QSplitter(Qt::Horizontal, parent), m_content(content), m_panel(panel) {
    addWidget(content);
    addWidget(panel);
    setStretchFactor(0, 1);
}

void SideSplit::setPanelWanted(bool wanted) {
    m_wanted = wanted;
    arrange();
}

void SideSplit::showPanel(bool shown) {
    if (m_narrow)
        m_instead = shown;
    else
        m_wanted = shown;
    arrange();
}

void SideSplit::setBare(bool bare) {
    m_bare = bare;
    arrange();
}

bool SideSplit::event(QEvent* event) {
    const bool handled = QSplitter::event(event);
    if (event->type() != QEvent::Resize && event->type() != QEvent::LayoutRequest) return handled;
    // Before the widget is visible, the width is arbitrary, so it is not compared.
    const int need = m_content->minimumSizeHint().width() + handleWidth() +
                     std::max(m_panel->minimumWidth(), m_panel->minimumSizeHint().width());
    m_narrow = isVisible() && width() < need;
    if (!m_narrow) m_instead = false;
    arrange();
    return handled;
}

void SideSplit::arrange() {
    const bool panel = !m_bare && (m_narrow ? m_instead : m_wanted);
    const bool content = m_bare || !m_narrow || !m_instead;
    const bool changed = panel != panelShown();
    // setVisible() requests a new layout even if nothing changes; without this test, the requests would not
    // end.
    if (content == m_content->isHidden()) m_content->setVisible(content);
    if (!changed) return;
    m_panel->setVisible(panel);
    emit panelChanged(panel);
}

}  // namespace mpm::gui
