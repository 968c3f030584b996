// The C library's numbers in a program whose words and numbers for people are Qt's.
#pragma once

#include <clocale>

namespace mpm::gui {

/// To be called right after the application is made: its constructor gives the C library the user's locale,
/// in which printf and strtod may write and want 0,5. Our own files do not go through them, but GStreamer,
/// FFmpeg and OpenCV have such code too. What people read follows QLocale, which knows nothing of this.
inline void usePlainNumbers() {
    std::setlocale(LC_NUMERIC, "C");
}

}  // namespace mpm::gui
