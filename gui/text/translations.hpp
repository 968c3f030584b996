// The text of the window in the language of the desktop, where there is a translation.
#pragma once

class QCoreApplication;
class QLocale;

namespace mpm::gui {

/// Ours and Qt's own (the latter where the system has them). English needs none. Once a program.
void installTranslations(QCoreApplication& application, const QLocale& locale);

}  // namespace mpm::gui
