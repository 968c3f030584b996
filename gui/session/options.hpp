// The command line of the monitor.
#pragma once

#include <optional>

#include <QCoreApplication>
#include <QSize>
#include <QString>
#include <QStringList>

#include "street/street.hpp"

namespace mpm::gui {

struct Options {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Options)

public:
    std::optional<QString> source, model;  ///< absent: as in the profile
    QString profile = QStringLiteral("default");
    QString screenshot;  ///< file to write the window to; empty: none
    double after = 3;    ///< seconds until the screenshot, or without a window until the end
    bool afterGiven = false;
    bool headless = false;
    QString view;                                  ///< a view's key; empty: as in the profile
    QString theme;                                 ///< system, light, dark; empty: as in the profile
    QSize size;                                    ///< of the window; empty: as in the profile
    std::optional<street::NightParameters> night;  ///< simulated; absent: as in the profile
    int dayCycle = 0;  ///< frames in which a day of the built-in street passes; 0: the usual pace
};

struct ParsedOptions {
    Options options;
    int exit = -1;    ///< 0 or 2: exit with this status
    QString message;  ///< help, version, or an error: a line
};

/// `arguments`: the program's name first. `views`: the keys that --view accepts.
ParsedOptions parseOptions(const QStringList& arguments, const QStringList& views);

}  // namespace mpm::gui
