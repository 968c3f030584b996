// The menu of what is watched for, and the cameras there are.
#pragma once

#include <QStringList>

namespace mpm::gui {

class MainWindow;

void addWatchMenu(MainWindow& window);

/// "0: Integrated Camera", for every camera the system has.
QStringList cameraNames();

}  // namespace mpm::gui
