#include "gui/dialogs/shortcut_sheet.hpp"

#include <algorithm>
#include <vector>

#include <QDialog>
#include <QGridLayout>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>

#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr int kMostColumns = 3;

QString plain(QString text) {
    text.remove(QLatin1Char('&'));
    if (text.endsWith(QStringLiteral("…"))) text.chop(1);
    return text;
}

/// Returns the actions of a menu and its submenus that have a shortcut.
QList<const QAction*> withShortcut(const QMenu* menu) {
    QList<const QAction*> found;
    for (const QAction* action : menu->actions()) {
        if (action->menu() != nullptr) found += withShortcut(action->menu());
        if (!action->shortcut().isEmpty()) found << action;
    }
    return found;
}

void addRow(QGridLayout* grid, const QString& keys, const QString& what) {
    const int row = grid->rowCount();
    auto* key = plainLabel(keys);
    key->setFont(bold(key->font()));
    grid->addWidget(key, row, 0, Qt::AlignRight);
    grid->addWidget(plainLabel(what), row, 1);
}

QGridLayout* addBlock(QBoxLayout* column, const QString& title) {
    auto* head = plainLabel(title);
    head->setObjectName(QStringLiteral("cardTitle"));
    column->addWidget(head);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    column->addLayout(grid);
    column->addSpacing(12);
    return grid;
}

/// The columns of the sheet. To keep the sheet low, each block goes into the column that is shortest so far.
class Columns {
public:
    explicit Columns(int count) : m_rows(static_cast<std::size_t>(count)) {
        for (int i = 0; i < count; ++i)
            m_columns.push_back(new QVBoxLayout);
    }
    QBoxLayout* next(int rows) {
        const auto shortest = std::min_element(m_rows.begin(), m_rows.end());
        *shortest += rows + 2;  // the title and the gap below
        return m_columns[static_cast<std::size_t>(shortest - m_rows.begin())];
    }
    void addTo(QBoxLayout* layout) const {
        for (QVBoxLayout* column : m_columns) {
            column->setSpacing(4);  // otherwise the column inherits the spacing between columns
            column->addStretch(1);
            layout->addLayout(column);
        }
    }

private:
    std::vector<QVBoxLayout*> m_columns;
    std::vector<int> m_rows;
};

void addMenu(Columns& columns, const QMenu* menu) {
    const QList<const QAction*> actions = withShortcut(menu);
    if (actions.isEmpty()) return;
    QGridLayout* grid = addBlock(columns.next(static_cast<int>(actions.size())), plain(menu->title()));
    for (const QAction* action : actions)
        addRow(grid, action->shortcut().toString(QKeySequence::NativeText), plain(action->text()));
}

QWidget* makeSheet(const QMainWindow& window, int count) {
    auto* sheet = new QWidget;
    auto* row = new QHBoxLayout(sheet);
    row->setContentsMargins(20, 16, 20, 16);
    row->setSpacing(32);
    Columns columns(count);
    for (const QAction* action : window.menuBar()->actions())
        if (action->menu() != nullptr) addMenu(columns, action->menu());
    QGridLayout* mouse = addBlock(columns.next(5), ShortcutSheet::tr("Mouse and focus"));
    addRow(mouse, ShortcutSheet::tr("Wheel"), ShortcutSheet::tr("zoom images, or the timeline"));
    addRow(mouse, ShortcutSheet::tr("Drag"), ShortcutSheet::tr("move images, the timeline, the split"));
    addRow(mouse, ShortcutSheet::tr("Double click"), ShortcutSheet::tr("one image large, and back"));
    addRow(mouse, ShortcutSheet::tr("Left, Right"), ShortcutSheet::tr("move the split or the timeline"));
    addRow(mouse, ShortcutSheet::tr("Space"), ShortcutSheet::tr("switch the block in focus"));
    columns.addTo(row);
    return sheet;
}

}  // namespace

/// On a small screen, the sheet has fewer columns and scrolls.
QDialog* showShortcutSheet(QMainWindow& window) {
    auto* dialog = new QDialog(&window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(ShortcutSheet::tr("Keyboard shortcuts"));
    auto* scroll = new QScrollArea(dialog);
    auto* layout = new QVBoxLayout(dialog);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(scroll);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    const QSize room = window.screen()->availableSize() - QSize(40, 60);  // room for a window frame
    const int bar = scroll->verticalScrollBar()->sizeHint().width() + 2;
    for (int count = kMostColumns; count > 0; --count) {
        scroll->setWidget(makeSheet(window, count));
        if (scroll->widget()->sizeHint().width() + bar <= room.width()) break;
    }
    const QSize sheet = scroll->widget()->sizeHint();
    dialog->resize((sheet + QSize(bar, 2)).boundedTo(room));
    dialog->open();
    return dialog;
}

}  // namespace mpm::gui
