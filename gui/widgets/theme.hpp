// Colours of the window, light and dark. Colour is never the only signal: each colour has a word or a shape
// with it.
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
    /// The program's theme, the same for every widget.
    static const Theme& of(const QWidget* widget);
};

enum class Appearance { System, Light, Dark };

/// Style, palette and style sheet of the whole program.
void applyAppearance(QApplication& application, Appearance appearance);
/// Marked text keeps its meaning in both themes. "trouble": an error; "stale": not current.
void setMark(QWidget& widget, const char* mark, bool on);
/// A font of another size or weight, everything else as it was.
QFont scaled(QFont font, double factor);
QFont bold(QFont font);
QString appearanceName(Appearance appearance);
Appearance appearanceFrom(const QString& name);

}  // namespace mpm::gui
