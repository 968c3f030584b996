// The application of a program with a window, on a machine that may have no display.
#pragma once

#include <memory>

#include <QApplication>

namespace mpm::gui {

/// Where there is no display: one line on stderr, and the program ends with status 1. Qt itself would abort
/// it, with a page about its plugins and a core dump.
std::unique_ptr<QApplication> makeApplication(int& argc, char** argv);

}  // namespace mpm::gui
