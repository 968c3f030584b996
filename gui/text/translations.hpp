// Loads translations of the window's text into the desktop's language, if there are any.
#pragma once

class QCoreApplication;
class QLocale;

namespace mpm::gui {

/// Installs the translations of the monitor and, if the system has them, of Qt. For English, installs none.
/// Must be called only once.
void installTranslations(QCoreApplication& application, const QLocale& locale);

}  // namespace mpm::gui
