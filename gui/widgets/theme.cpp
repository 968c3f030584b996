#include "gui/widgets/theme.hpp"

#include <QApplication>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QWidget>

namespace mpm::gui {

namespace {

Theme makeLight() {
    Theme t;
    t.window = 0xF3F4F6, t.surface = 0xFFFFFF, t.raised = 0xE9ECF0, t.border = 0xD5DAE1;
    t.text = 0x1B2430, t.muted = 0x586474, t.accent = 0x0B66C3, t.onAccent = 0xFFFFFF;
    t.good = 0x0A7D55, t.warning = 0x9A5B00, t.bad = 0xBF2A1C;
    t.plot = 0xFFFFFF, t.grid = 0xE4E8ED, t.dayBand = 0xFFF8E3, t.nightBand = 0xDFE5F3;
    t.kept = 0x0B66C3, t.luminance = 0xA66300, t.latency = 0x00795C, t.saved = 0x7B3FB5;
    t.stages = {0xC05A86, 0x8A6FC9, 0x5E8C31, 0x7A7F87};
    return t;
}

Theme makeDark() {
    Theme t;
    t.window = 0x14181E, t.surface = 0x1C2129, t.raised = 0x2A313C, t.border = 0x343C48;
    t.text = 0xE8ECF2, t.muted = 0x9AA6B6, t.accent = 0x58A6F2, t.onAccent = 0x0C131C;
    t.good = 0x46C795, t.warning = 0xF0B445, t.bad = 0xFF7B6B;
    t.plot = 0x181D24, t.grid = 0x2B323D, t.dayBand = 0x2B2817, t.nightBand = 0x1A2238;
    t.kept = 0x6DB6FF, t.luminance = 0xE9A93A, t.latency = 0x43C59A, t.saved = 0xC9A2FF;
    t.stages = {0xE58BB4, 0xB39DF0, 0x9BCB64, 0xA4ABB6};
    t.dark = true;
    return t;
}

QPalette paletteOf(const Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.raised);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::ToolTipBase, t.surface);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::PlaceholderText, t.muted);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.onAccent);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::Mid, t.border);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, t.muted);
    return p;
}

/// Returns the style sheet, in which each @name is replaced by the theme's colour of this name.
QString sheetOf(const Theme& t) {
    QString sheet = QStringLiteral(R"(
QFrame#card, QFrame#tile { background: @surface; border: 1px solid @border; border-radius: 6px; }
QLabel#muted, QLabel#cardTitle { color: @muted; }
QLabel#corner { background: rgba(20, 24, 30, 190); color: white; border-radius: 4px; padding: 5px 9px; }
QLabel#corner[trouble="true"] { background: rgba(150, 30, 20, 220); }
QLabel#muted[trouble="true"], QStatusBar[trouble="true"] { color: @warning; }
QLabel[stale="true"] { color: @muted; }
QLabel#cardTitle { font-weight: 600; }
QToolTip { background: @surface; color: @text; border: 1px solid @border; padding: 4px; }
QPushButton, QToolButton { background: @surface; color: @text; border: 1px solid @border; border-radius: 4px;
    padding: 4px 10px; }
QPushButton:hover, QToolButton:hover { border-color: @accent; }
QPushButton:checked, QToolButton:checked { background: @accent; color: @onAccent; border-color: @accent; }
QPushButton:focus, QToolButton:focus { border-color: @accent; }
QPushButton:disabled, QToolButton:disabled { color: @muted; }
QToolButton#flat { border-color: transparent; background: transparent; padding: 2px 6px; }
QToolButton#flat:hover { border-color: @border; }
QToolButton#flat:focus { border-color: @accent; }
QMenuBar { background: @window; }
QMenuBar::item { padding: 4px 9px; background: transparent; }
QMenuBar::item:selected { background: @raised; border-radius: 4px; }
QMenu { background: @surface; border: 1px solid @border; }
QMenu::item:selected { background: @accent; color: @onAccent; }
QFileDialog QToolButton { padding: 3px; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
QSplitter::handle { background: transparent; }
QTableView, QListView { background: transparent; border: none; selection-background-color: @raised;
    selection-color: @text; }
QListView#framed, QTableView#framed { background: @surface; border: 1px solid @border; border-radius: 4px; }
QHeaderView { background: transparent; }
QTableCornerButton::section { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 9px; margin: 0; }
QScrollBar::handle:vertical { background: @border; border-radius: 3px; min-height: 24px; margin: 0 1px; }
QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }
QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: transparent; }
QToolButton#recording { color: @bad; border-color: @bad; font-weight: 600; }
QToolButton#small, QToolButton#tall { padding: 3px 7px; }
QToolButton#small::menu-indicator { image: none; width: 0; }
QToolButton#mode { padding: 4px 8px; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @muted; border: none; border-bottom: 2px solid transparent;
    padding: 4px 12px; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabWidget::pane { border: 1px solid @border; border-radius: 4px; }
QHeaderView::section { background: transparent; color: @muted; border: none; padding: 2px 4px; }
)");
    const std::pair<const char*, QColor> colours[] = {
        {"@onAccent", t.onAccent}, {"@surface", t.surface}, {"@raised", t.raised}, {"@window", t.window},
        {"@border", t.border},     {"@accent", t.accent},   {"@muted", t.muted},   {"@text", t.text},
        {"@warning", t.warning},   {"@bad", t.bad}};
    for (const auto& [name, colour] : colours)
        sheet.replace(QLatin1String(name), colour.name());
    return sheet;
}

/// A style without icons on buttons, and with arrows in the colour of the text. Without an icon theme, Qt
/// would show red crosses on buttons, and black arrows that are invisible in the dark theme.
class PlainStyle : public QProxyStyle {
public:
    PlainStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* more) const override {
        return hint == SH_DialogButtonBox_ButtonsHaveIcons
                   ? 0
                   : QProxyStyle::styleHint(hint, option, widget, more);
    }

    QIcon standardIcon(StandardPixmap which, const QStyleOption* option,
                       const QWidget* widget) const override {
        const QIcon icon = QProxyStyle::standardIcon(which, option, widget);
        if (which >= SP_MessageBoxInformation && which <= SP_MessageBoxQuestion) return icon;
        const QPalette palette = QApplication::palette();
        QIcon tinted;
        for (const auto& [mode, group] :
             {std::pair(QIcon::Normal, QPalette::Active), std::pair(QIcon::Disabled, QPalette::Disabled)})
            for (const int size : {16, 32})
                tinted.addPixmap(tint(icon.pixmap(size), palette.color(group, QPalette::ButtonText)), mode);
        return tinted;
    }

private:
    static QPixmap tint(QPixmap pixmap, const QColor& colour) {
        QPainter painter(&pixmap);
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(pixmap.rect(), colour);
        return pixmap;
    }
};

}  // namespace

const Theme& Theme::light() {
    static const Theme theme = makeLight();
    return theme;
}

const Theme& Theme::darkOne() {
    static const Theme theme = makeDark();
    return theme;
}

const Theme& Theme::of(const QWidget* widget) {
    Q_UNUSED(widget)
    // Uses the program's palette, because a style sheet with a transparent background makes the widget's own
    // window colour black.
    return QApplication::palette().color(QPalette::Window).lightness() < 128 ? darkOne() : light();
}

void applyAppearance(QApplication& application, Appearance appearance) {
    static const bool systemDark = application.palette().color(QPalette::Window).lightness() < 128;
    const bool dark = appearance == Appearance::Dark || (appearance == Appearance::System && systemDark);
    const Theme& theme = dark ? Theme::darkOne() : Theme::light();
    application.setStyle(new PlainStyle);
    application.setPalette(paletteOf(theme));
    application.setStyleSheet(sheetOf(theme));
}

void setMark(QWidget& widget, const char* mark, bool on) {
    if (widget.property(mark).toBool() == on) return;
    widget.setProperty(mark, on);
    widget.style()->unpolish(&widget);  // otherwise the style sheet ignores the changed property
    widget.style()->polish(&widget);
}

QFont scaled(QFont font, double factor) {
    font.setPointSizeF(font.pointSizeF() * factor);
    return font;
}

QFont bold(QFont font) {
    font.setBold(true);
    return font;
}

QString appearanceName(Appearance appearance) {
    const char* names[] = {"system", "light", "dark"};
    return QLatin1String(names[static_cast<int>(appearance)]);
}

Appearance appearanceFrom(const QString& name) {
    if (name == QLatin1String("light")) return Appearance::Light;
    return name == QLatin1String("dark") ? Appearance::Dark : Appearance::System;
}

}  // namespace mpm::gui
