// Menus and short cuts of the main window.
#pragma once

namespace mpm::gui {

class MainWindow;

void installActions(MainWindow& window);

}  // namespace mpm::gui
