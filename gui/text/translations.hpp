// The text of the window in the language of the desktop, if there is a translation.
#pragma once

class QCoreApplication;
class QLocale;

namespace mpm::gui {

/// Ours and Qt's (the latter if the system has them). English needs none. Once a program.
void installTranslations(QCoreApplication& application, const QLocale& locale);

}  // namespace mpm::gui
