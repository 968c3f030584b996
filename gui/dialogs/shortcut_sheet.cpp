#include "gui/dialogs/shortcut_sheet.hpp"

#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

namespace {

QString plain(QString text) {
    return text.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
}

void addRow(QGridLayout* grid, const QString& keys, const QString& what) {
    const int row = grid->rowCount();
    auto* key = plainLabel(keys);
    key->setTextFormat(Qt::PlainText);
    QFont bold = key->font();
    bold.setBold(true);
    key->setFont(bold);
    grid->addWidget(key, row, 0, Qt::AlignRight);
    grid->addWidget(plainLabel(what), row, 1);
}

QGridLayout* addBlock(QBoxLayout* column, const QString& title) {
    auto* head = plainLabel(title);
    head->setObjectName(QStringLiteral("cardTitle"));
    column->addWidget(head);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(3);
    grid->setColumnStretch(1, 1);
    column->addLayout(grid);
    column->addSpacing(8);
    return grid;
}

void addMenu(QBoxLayout* column, const QMenu* menu) {
    QGridLayout* grid = nullptr;
    for (const QAction* action : menu->actions()) {
        if (action->shortcut().isEmpty()) continue;
        if (grid == nullptr) grid = addBlock(column, plain(menu->title()));
        addRow(grid, action->shortcut().toString(QKeySequence::NativeText), plain(action->text()));
    }
}

}  // namespace

QDialog* showShortcutSheet(QMainWindow& window) {
    auto* dialog = new QDialog(&window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(ShortcutSheet::tr("Short cuts"));
    auto* row = new QHBoxLayout(dialog);
    row->setContentsMargins(20, 16, 20, 16);
    row->setSpacing(32);
    QVBoxLayout* columns[] = {new QVBoxLayout, new QVBoxLayout};
    int at = 0;
    for (const QAction* action : window.menuBar()->actions())
        if (action->menu() != nullptr) addMenu(columns[at++ < 2 ? 0 : 1], action->menu());
    QGridLayout* mouse = addBlock(columns[1], ShortcutSheet::tr("Mouse and focus"));
    addRow(mouse, ShortcutSheet::tr("Wheel"), ShortcutSheet::tr("zoom images, or the timeline"));
    addRow(mouse, ShortcutSheet::tr("Drag"), ShortcutSheet::tr("move images, the timeline, the split"));
    addRow(mouse, ShortcutSheet::tr("Double click"), ShortcutSheet::tr("one image large, and back"));
    addRow(mouse, ShortcutSheet::tr("Left, Right"), ShortcutSheet::tr("move the split or the timeline"));
    addRow(mouse, ShortcutSheet::tr("Space"), ShortcutSheet::tr("switch the block in focus"));
    for (QVBoxLayout* column : columns) {
        column->addStretch();
        row->addLayout(column);
    }
    dialog->open();
    return dialog;
}

}  // namespace mpm::gui
