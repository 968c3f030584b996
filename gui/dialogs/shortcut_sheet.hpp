// A sheet of all shortcuts, which are read from the menus.
#pragma once

#include <QCoreApplication>

class QDialog;
class QMainWindow;

namespace mpm::gui {

struct ShortcutSheet {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::ShortcutSheet)
};

/// Opens the sheet, which deletes itself when it is closed.
QDialog* showShortcutSheet(QMainWindow& window);

}  // namespace mpm::gui
