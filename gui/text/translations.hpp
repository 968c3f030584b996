// Translations of the window's text into the desktop's language, if there are any.
#pragma once

class QCoreApplication;
class QLocale;

namespace mpm::gui {

/// Installs our translations, and Qt's if the system has them; none for English. Must be called only once.
void installTranslations(QCoreApplication& application, const QLocale& locale);

}  // namespace mpm::gui
