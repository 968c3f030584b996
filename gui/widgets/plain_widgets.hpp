// Functions for labels, tool tips and message boxes that never interpret text as HTML. The window must make
// all labels, tool tips and message boxes with these functions.
#pragma once

#include <QLabel>
#include <QMessageBox>
#include <QToolButton>

#include "gui/text/plain_text.hpp"

namespace mpm::gui {

inline QLabel* plainLabel(const QString& text = {}, QWidget* parent = nullptr) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setText(text);
    return label;
}

inline void setPlainToolTip(QWidget* widget, const QString& text) {
    widget->setToolTip(plainToolTip(text));
}

inline QToolButton* smallButton(const QString& text, const QString& tip = {}) {
    auto* button = new QToolButton;
    button->setObjectName(QStringLiteral("small"));
    button->setText(text);
    if (!tip.isEmpty()) setPlainToolTip(button, tip);
    return button;
}

/// Makes a box that deletes itself when it is closed. `more`: informative text below `text`.
inline QMessageBox* plainBox(QMessageBox::Icon icon, const QString& title, const QString& text,
                             const QString& more, QMessageBox::StandardButtons buttons, QWidget* parent) {
    auto* box = new QMessageBox(icon, title, {}, buttons, parent);
    box->setTextFormat(Qt::PlainText);
    box->setText(text);
    box->setInformativeText(plainToolTip(more));  // Qt has no property for the format of this text
    box->setAttribute(Qt::WA_DeleteOnClose);
    return box;
}

}  // namespace mpm::gui
