// Numbers in the user's notation. Not for files, alerts and other programs, which need the decimal point.
#pragma once

#include <clocale>
#include <vector>

#include <QLocale>
#include <QStringList>

namespace mpm::gui {

/// Must be called right after the application is made. The application's constructor sets the C library to
/// the user's locale, in which printf and strtod may use 0,5. Our files do not depend on the C locale, but
/// code in GStreamer, FFmpeg and OpenCV does. Text for the user uses QLocale, which this function does not
/// change.
inline void setNumericLocale() {
    std::setlocale(LC_NUMERIC, "C");
}

/// Returns "0,5" if the locale has a comma. Never separates thousands, so that token counts look alike.
inline QString readable(double value, int digits) {
    QLocale locale;
    locale.setNumberOptions(QLocale::OmitGroupSeparator);
    return locale.toString(value, 'f', digits);
}

/// Returns milliseconds, below ten with a decimal, to show the time that merging saves.
inline QString readableMs(double value) {
    return readable(value, value < 9.95 ? 1 : 0);
}

inline QString joined(const std::vector<int>& numbers, const QString& between) {
    QStringList parts;
    for (const int number : numbers)
        parts << QString::number(number);
    return parts.join(between);
}

}  // namespace mpm::gui
