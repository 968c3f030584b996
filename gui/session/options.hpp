// Parses the command line of the monitor.
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
    QString screenshot;  ///< file for an image of the window; empty: none
    double after = 3;    ///< seconds until the screenshot or, without a window, until the program ends
    bool afterGiven = false;
    bool headless = false;
    QString view;                                  ///< a view's key; empty: as in the profile
    QString theme;                                 ///< system, light, dark; empty: as in the profile
    QSize size;                                    ///< size of the window; empty: as in the profile
    std::optional<street::NightParameters> night;  ///< simulated night; absent: as in the profile
    int dayCycle = 0;  ///< number of frames in a day of the built-in street; 0: the usual number
};

struct ParsedOptions {
    Options options;
    int exit = -1;    ///< if not negative, the program must exit with this status
    QString message;  ///< help, version, or a line with an error
};

/// Parses the arguments, the first of which is the program's name. `views`: the keys that --view accepts.
ParsedOptions parseOptions(const QStringList& arguments, const QStringList& views);

}  // namespace mpm::gui
