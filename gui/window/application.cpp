#include "gui/window/application.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <QStringList>

#include "gui/window/main_window.hpp"

namespace mpm::gui {

namespace {

QStringList g_held;  // must be global, because a message handler is a plain function

/// Stores Qt's warnings, to be printed later. If Qt wants to abort, ends the program with a shorter message.
void holdBack(QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type != QtFatalMsg) {
        g_held << text;
        return;
    }
    std::fputs("mpm-monitor: no display can be opened; --headless measures without one\n", stderr);
    std::_Exit(1);  // nothing is open yet that needs closing
}

}  // namespace

std::unique_ptr<QApplication> makeApplication(int& argc, char** argv) {
    const QtMessageHandler before = qInstallMessageHandler(holdBack);
    auto application = std::make_unique<QApplication>(argc, argv);
    qInstallMessageHandler(before);
    for (const QString& text : std::exchange(g_held, {}))
        qWarning("%s", qUtf8Printable(text));
    return application;
}

ProfileWindow::ProfileWindow(const Options& options) {
    open(options);
}

ProfileWindow::~ProfileWindow() = default;

void ProfileWindow::open(const Options& options) {
    m_window = std::make_unique<MainWindow>(options);
    // The connection is queued, because switchTo() deletes the window, whose dialog emits the signal.
    connect(m_window.get(), &MainWindow::profileWanted, this, &ProfileWindow::switchTo, Qt::QueuedConnection);
    m_window->show();
}

/// Closes the window before opening the next window, because both may need the same camera.
void ProfileWindow::switchTo(const QString& profile) {
    Options options;
    options.profile = profile;
    if (Profile(profile).load().geometry.isEmpty()) options.size = m_window->size();
    const bool quits = QGuiApplication::quitOnLastWindowClosed();
    QGuiApplication::setQuitOnLastWindowClosed(false);
    m_window->close();
    m_window.reset();
    open(options);
    QGuiApplication::setQuitOnLastWindowClosed(quits);
}

}  // namespace mpm::gui
