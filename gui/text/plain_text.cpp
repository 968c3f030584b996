#include "gui/text/plain_text.hpp"

#include <QTextDocument>

namespace mpm::gui {

QString plainToolTip(const QString& text) {
    return Qt::mightBeRichText(text) ? QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped()) : text;
}

}  // namespace mpm::gui
