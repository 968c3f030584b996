// A tab for each source. The source of the current tab is in front.
#pragma once

#include <optional>

#include <QTabBar>

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource;

class SourceTabs : public QTabBar {
    Q_OBJECT
public:
    SourceTabs(const Parts& parts, FrontSource* front);

    /// open() replaces the source of the current tab; add() opens a new tab. The next start opens the source
    /// too.
    void open(const QString& source, const std::optional<QString>& name = {});
    void add(const QString& source, const std::optional<QString>& name = {});
    void close(int index);
    void closeCurrent() { close(currentIndex()); }
    void select(int index);
    void askForName(int index);
    void nameCurrent() { askForName(currentIndex()); }

signals:
    /// Emitted when another source comes to the front, and when a source is opened or closed.
    void sourcesChanged();

private:
    void addTab(Engine& engine);
    void updateNames();

    const Parts m_parts;
    FrontSource* m_front;
};

}  // namespace mpm::gui
