// Menus and keyboard shortcuts of the main window.
#pragma once

#include <QAction>
#include <QCoreApplication>
#include <QMenu>

namespace mpm::gui {

class MainWindow;

struct Actions {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Actions)
};

void installActions(MainWindow& window);

void addViewMenu(MainWindow& window);
void addWatchMenu(MainWindow& window);

template <typename Do>
QAction* addAction(QMenu* menu, const QString& text, const QKeySequence& keys, Do action) {
    QAction* added = menu->addAction(text, action);
    added->setShortcut(keys);
    return added;
}

}  // namespace mpm::gui
