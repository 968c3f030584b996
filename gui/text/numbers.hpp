// Numbers as whoever reads them writes them. Not for files, alerts and other programs: those keep the point.
#pragma once

#include <QLocale>

namespace mpm::gui {

/// "0,5" where that is how it is written, and never a mark between thousands: token counts have none either.
inline QString readable(double value, int digits) {
    QLocale locale;
    locale.setNumberOptions(QLocale::OmitGroupSeparator);
    return locale.toString(value, 'f', digits);
}

}  // namespace mpm::gui
