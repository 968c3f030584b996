// The application of a program with a window, on a machine that may have no display.
#pragma once

#include <memory>

#include <QApplication>

namespace mpm::gui {

/// If there is no display: a line on stderr, and the program ends with status 1. Qt would abort
/// it, with a page about plugins and a core dump.
std::unique_ptr<QApplication> makeApplication(int& argc, char** argv);

}  // namespace mpm::gui
