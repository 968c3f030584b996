// The colours of the light and the dark theme. If a colour has a meaning, a word or a shape also shows it.
#pragma once

#include <array>

#include <QColor>
#include <QFont>
#include <QString>

class QApplication;
class QWidget;

namespace mpm::gui {

struct Theme {
    QColor window, surface, raised, border, text, muted, accent, onAccent;
    QColor good, warning, bad;
    QColor plot, grid, dayBand, nightBand;
    QColor kept, luminance, latency, saved;
    std::array<QColor, 4> stages;
    bool dark = false;

    static const Theme& light();
    static const Theme& darkOne();
    /// Returns the program's theme, which is the same for every widget.
    static const Theme& of(const QWidget* widget);
};

enum class Appearance { System, Light, Dark };

/// Sets style, palette and style sheet of the whole program.
void applyAppearance(QApplication& application, Appearance appearance);
/// Marks a widget, or removes the mark. The style sheets of both themes show the mark. `mark`: "trouble" for
/// an error, "stale" for data that are not current.
void setMark(QWidget& widget, const char* mark, bool on);
QFont scaled(QFont font, double factor);
QFont bold(QFont font);
QString appearanceName(Appearance appearance);
Appearance appearanceFrom(const QString& name);

}  // namespace mpm::gui
