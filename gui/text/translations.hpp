// The text of the window in the language of the desktop, if there is a translation.
#pragma once

class QCoreApplication;
class QLocale;

namespace mpm::gui {

/// Installs our translations, and Qt's if the system has them. English needs none. Call it once.
void installTranslations(QCoreApplication& application, const QLocale& locale);

}  // namespace mpm::gui
