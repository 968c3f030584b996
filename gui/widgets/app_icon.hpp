// The program's icon. It is painted, so that it is sharp at every size and needs no image plug-in.
#pragma once

#include <QIcon>

namespace mpm::gui {

/// Returns the same image as assets/icons/mpm-monitor.svg, which the desktop shows.
QIcon appIcon();

}  // namespace mpm::gui
