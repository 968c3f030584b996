// Prevents Qt from reading text as HTML, because an image tag in a label would load a file. All text from
// outside must be shown through plainToolTip() or gui/widgets/plain_widgets.hpp;
// tests/gui/check_plain_text.sh checks this.
#pragma once

#include <QString>
#include <QTextDocument>

namespace mpm::gui {

/// Returns `text` for a tool tip. Escapes text that looks like HTML, because Qt would interpret it.
inline QString plainToolTip(const QString& text) {
    return Qt::mightBeRichText(text) ? QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped()) : text;
}

}  // namespace mpm::gui
