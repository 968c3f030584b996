#include "gui/dialogs/tune_dialog.hpp"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

QString blocksOf(const TunedMethod& one) {
    return joined(one.blocks, QStringLiteral(", "));
}

}  // namespace

QTableWidget* TuneDialog::tableOf(const TuneFound& found) {
    const QStringList titles{tr("Times as fast"), tr("Agreement, %"), tr("Worst tenth, %"), tr("Method"),
                             tr("Before blocks")};
    auto* table = new QTableWidget(static_cast<int>(found.unbeaten.size()), static_cast<int>(titles.size()));
    table->setHorizontalHeaderLabels(titles);
    table->setObjectName(QStringLiteral("framed"));
    table->setAccessibleName(tr("Candidates that no other beats"));
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setShowGrid(false);
    table->verticalHeader()->hide();
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    int row = 0;
    for (const TunedMethod& one : found.unbeaten) {
        int column = 0;
        for (const QString& text : {readable(one.speed, 2), readable(100 * one.agreement, 2),
                                    readable(100 * one.worstTenth, 2), one.method, blocksOf(one)})
            table->setItem(row, column++, new QTableWidgetItem(text));
        if (found.chosen && one.method == found.chosen->method && one.blocks == found.chosen->blocks)
            table->selectRow(row);
        ++row;
    }
    table->resizeColumnsToContents();
    table->horizontalHeader()->setStretchLastSection(true);
    return table;
}

TuneDialog::TuneDialog(const TuneFound& found, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("The best speed"));
    QString head = tr("No candidate is fast enough and agrees enough"), below = found.remark;
    if (found.chosen) {
        head = tr("%1 times as fast as all tokens, with an agreement of %2 %")
                   .arg(readable(found.chosen->speed, 2), readable(100 * found.chosen->agreement, 2));
        below = tr("%1, before blocks %2").arg(found.chosen->method, blocksOf(*found.chosen));
    }
    auto* title = plainLabel(head);
    title->setFont(bold(title->font()));
    auto* choice = plainLabel(below);
    QString words =
        tr("%1 on %2 images of the source. Agreement is with the output of all tokens. No other candidate is "
           "both faster and closer to it.")
            .arg(safeText(QFileInfo(found.model).completeBaseName()))
            .arg(found.images);
    if (!found.complete) words += QLatin1Char(' ') + tr("The time ended before all images were measured.");
    auto* note = plainLabel(words);
    note->setObjectName(QStringLiteral("muted"));
    auto* layout = new QVBoxLayout(this);
    for (QLabel* label : {title, choice, note}) {
        label->setWordWrap(true);
        layout->addWidget(label);
    }
    layout->addWidget(tableOf(found));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    if (found.chosen) buttons->addButton(tr("&Use it"), QDialogButtonBox::AcceptRole)->setDefault(true);
    layout->addWidget(buttons);
    resize(680, 380);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit useWanted();
        accept();
    });
}

}  // namespace mpm::gui
