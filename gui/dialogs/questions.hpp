// Dialogs that ask for a file, a source or a number. They are opened, never executed: frames, measurements
// and the network go on behind them.
#pragma once

#include <functional>

#include <QCoreApplication>
#include <QStringList>

class QWidget;

namespace mpm::gui {

/// The context of the translations. In a header: lupdate finds no other.
struct Questions {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Questions)
};

/// `suggestion`: a name with ending for a new file; empty: an existing file is asked for.
void askForFile(QWidget& window, const QString& title, const QString& filter,
                const std::function<void(QString)>& then, const QString& suggestion = {});
/// `hint`: shown while nothing is typed. `problem`: why a text cannot be used; empty: it can.
void askForName(QWidget& window, const QString& title, const QString& present, const QString& hint,
                const std::function<QString(const QString& text)>& problem,
                const std::function<void(const QString& text)>& then);
/// `seconds` between two analysed frames.
void askForInterval(QWidget& window, double seconds, const std::function<void(double)>& then);
void showAbout(QWidget& window);

/// "0: Integrated Camera", for every camera the system has.
QStringList cameraNames();

}  // namespace mpm::gui
