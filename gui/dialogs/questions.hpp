// Dialogs that ask for a file, a name or a number. The dialogs use open(), because exec() would stop frames,
// measurements and the network.
#pragma once

#include <functional>

#include <QCoreApplication>
#include <QStringList>

class QWidget;

namespace mpm::gui {

/// The translation context of the dialogs. The struct is in a header, so that Qt's lupdate finds it.
struct Questions {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Questions)
};

/// `suggestion`: name of a new file, with the extension. If empty, the dialog asks for an existing file.
void askForFile(QWidget& window, const QString& title, const QString& filter,
                const std::function<void(QString)>& then, const QString& suggestion = {});
/// `hint`: shown while nothing is typed. `problem`: returns why the name cannot be used; empty if the name
/// can be used.
void askForName(QWidget& window, const QString& title, const QString& present, const QString& hint,
                const std::function<QString(const QString& text)>& problem,
                const std::function<void(const QString& text)>& then);
/// Asks for the time between two analysed frames. `seconds`: the current value.
void askForInterval(QWidget& window, double seconds, const std::function<void(double)>& then);
void showAbout(QWidget& window);

/// Returns a name such as "0: Integrated Camera" for each camera of the system.
QStringList cameraNames();

}  // namespace mpm::gui
