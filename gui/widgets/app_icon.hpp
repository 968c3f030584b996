// The program's icon, painted: no image plug-in is needed, and it is sharp at every size.
#pragma once

#include <QIcon>

namespace mpm::gui {

/// The same as assets/icons/mpm-monitor.svg, which the desktop shows.
QIcon appIcon();

}  // namespace mpm::gui
