// Words that Qt must not take for HTML: an image in a label would be loaded from wherever it says. What shows
// text of others goes through here; tests/gui/check_plain_text.sh finds what does not.
#pragma once

#include <QString>

class QLabel;
class QMessageBox;
class QWidget;

namespace mpm::gui {

/// For a tool tip, which Qt shows as HTML wherever it looks like HTML.
QString plainToolTip(const QString& text);

}  // namespace mpm::gui
