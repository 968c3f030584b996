// Menus and short cuts of the main window.
#pragma once

#include <QCoreApplication>

namespace mpm::gui {

class MainWindow;

/// The menus' words.
struct Actions {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Actions)
};

void installActions(MainWindow& window);

}  // namespace mpm::gui
