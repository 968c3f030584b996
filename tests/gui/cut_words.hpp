// Searches a window for words that are cut off.
#pragma once

#include <QAbstractButton>
#include <QStringList>

#include "gui/widgets/elided_label.hpp"

namespace mpm::gui::test {

/// Returns the texts of labels and buttons that are cut off without an ellipsis.
inline QStringList cutWords(const QWidget& top) {
    QStringList cut;
    const auto look = [&cut](const QWidget* widget, const QString& text) {
        if (!widget->isVisible() || text.isEmpty()) return;
        const QSize need = widget->sizeHint(), room = widget->size();
        if (room.width() < need.width() - 1 || room.height() < need.height() - 1)
            cut << QStringLiteral("'%1' needs %2x%3, has %4x%5")
                       .arg(text.left(40))
                       .arg(need.width())
                       .arg(need.height())
                       .arg(room.width())
                       .arg(room.height());
    };
    for (const QLabel* label : top.findChildren<QLabel*>())
        if (!label->wordWrap() && qobject_cast<const ElidedLabel*>(label) == nullptr)
            look(label, label->text());
    for (const QAbstractButton* button : top.findChildren<QAbstractButton*>())
        look(button, button->text());
    return cut;
}

}  // namespace mpm::gui::test
