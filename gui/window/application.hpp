// The application object of a program with a window, and the window itself.
#pragma once

#include <memory>

#include <QApplication>

namespace mpm::gui {

/// Makes the application. If no display can be opened, prints a line to stderr and ends the program with
/// status 1. Qt alone would print a page about plugins and abort with a core dump.
std::unique_ptr<QApplication> makeApplication(int& argc, char** argv);

class MainWindow;
struct Options;

/// The window of the program. If the user chooses another profile, a new window replaces this window.
class ProfileWindow : public QObject {
public:
    explicit ProfileWindow(const Options& options);
    ~ProfileWindow() override;

    MainWindow& window() { return *m_window; }

private:
    void open(const Options& options);
    void switchTo(const QString& profile);

    std::unique_ptr<MainWindow> m_window;
};

}  // namespace mpm::gui
