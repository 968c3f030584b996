// The number format of the C library, apart from the user's locale.
#pragma once

#include <clocale>

namespace mpm::gui {

/// Call it right after the application is made: the constructor sets the C library to the user's locale, in
/// which printf and strtod may use 0,5. Our files do not depend on it, but code in GStreamer, FFmpeg and
/// OpenCV does. Text for the user follows QLocale, which this does not change.
inline void setNumericLocale() {
    std::setlocale(LC_NUMERIC, "C");
}

}  // namespace mpm::gui
