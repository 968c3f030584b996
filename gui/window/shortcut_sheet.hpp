// A sheet of every short cut there is, read from the menus themselves.
#pragma once

class QDialog;
class QMainWindow;

namespace mpm::gui {

/// Opens it; it deletes itself when closed.
QDialog* showShortcutSheet(QMainWindow& window);

}  // namespace mpm::gui
