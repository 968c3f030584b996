// Writes numbers in the user's notation. Files, alerts and other programs need the decimal point instead.
#pragma once

#include <clocale>
#include <vector>

#include <QLocale>
#include <QStringList>

namespace mpm::gui {

/// Must be called right after the QApplication is made. The application's constructor sets the C library to
/// the user's locale, in which printf and strtod may use 0,5. Code in GStreamer, FFmpeg and OpenCV depends on
/// the C locale. Text for the user uses QLocale, which is not changed.
inline void setNumericLocale() {
    std::setlocale(LC_NUMERIC, "C");
}

/// Returns a number in the locale's notation, such as "0,5", but without thousands separators, so that all
/// token counts look alike.
inline QString readable(double value, int digits) {
    QLocale locale;
    locale.setNumberOptions(QLocale::OmitGroupSeparator);
    return locale.toString(value, 'f', digits);
}

/// Returns milliseconds as text. A value below 10 has a decimal, because merging may save less than 1 ms.
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
