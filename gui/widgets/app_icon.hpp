// The program's icon, which is painted: this needs no image plug-in, and is sharp at every size.
#pragma once

#include <QIcon>

namespace mpm::gui {

/// Returns the image of assets/icons/mpm-monitor.svg, which the desktop shows.
QIcon appIcon();

}  // namespace mpm::gui
