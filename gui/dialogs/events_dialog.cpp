#include "gui/dialogs/events_dialog.hpp"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/widgets/empty_hint.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

EventsDialog::EventsDialog(EventModel::FindImage image, EventModel::Title title, const QStringList& rules,
                           QWidget* parent)
    : QDialog(parent),
      m_events(std::move(image), std::move(title), rules),
      m_table(new QTableView),
      m_count(plainLabel()) {
    setWindowTitle(tr("Events"));
    m_shown.setSourceModel(&m_events);
    m_table->setModel(&m_shown);
    m_table->setObjectName(QStringLiteral("framed"));
    m_table->setAccessibleName(tr("Events, newest first"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setIconSize({2 * EventModel::kImageHeight, EventModel::kImageHeight});
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(EventModel::kImageHeight + 6);
    m_table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    QHeaderView* head = m_table->horizontalHeader();
    head->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    head->setSectionResizeMode(EventModel::Value, QHeaderView::Stretch);
    const int digit = fontMetrics().averageCharWidth();
    const std::pair<int, int> widths[] = {{EventModel::Image, 2 * EventModel::kImageHeight},
                                          {EventModel::Time, 17 * digit},
                                          {EventModel::Source, 16 * digit},
                                          {EventModel::Rule, 18 * digit},
                                          {EventModel::Play, 10 * digit}};
    for (const auto& [column, width] : widths)
        m_table->setColumnWidth(column, width);
    new EmptyHint(tr("No event yet. Alerts, day and night, and changes of a source appear here."), m_table);
    auto* filters = new QHBoxLayout;
    addFilter(filters, EventModel::Source, tr("Every source"), tr("Source"));
    addFilter(filters, EventModel::Rule, tr("Every rule"), tr("Rule"));
    addFilter(filters, EventModel::Time, tr("Every day"), tr("Day"));
    filters->addStretch();
    filters->addWidget(m_count);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_show = buttons->addButton(tr("Show the image"), QDialogButtonBox::ActionRole);
    m_play = buttons->addButton(tr("Play"), QDialogButtonBox::ActionRole);
    m_remove = buttons->addButton(tr("Delete"), QDialogButtonBox::DestructiveRole);
    setPlainToolTip(m_remove, tr("Deletes the selected events (Del); images and recordings stay"));
    m_remove->setShortcut(QKeySequence::Delete);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(filters);
    layout->addWidget(m_table);
    layout->addWidget(buttons);
    resize(760, 420);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_show, &QPushButton::clicked, this, &EventsDialog::showImage);
    connect(m_play, &QPushButton::clicked, this, &EventsDialog::play);
    connect(m_remove, &QPushButton::clicked, this, &EventsDialog::remove);
    connect(m_table, &QTableView::activated, this, &EventsDialog::showImage);
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == EventModel::Play) play();
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &EventsDialog::updateButtons);
    updateButtons();
}

void EventsDialog::addFilter(QLayout* row, EventModel::Column column, const QString& all,
                             const QString& name) {
    auto* box = new QComboBox;
    box->addItem(all);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_filters[column] = box;
    row->addWidget(box);
    connect(box, &QComboBox::currentIndexChanged, this, [this, box, column](int index) {
        m_shown.setWanted(column, index > 0 ? box->itemText(index) : QString());
        updateButtons();
    });
}

void EventsDialog::fillFilters() {
    for (const auto& [column, box] : m_filters) {
        const QString before = box->currentIndex() > 0 ? box->currentText() : QString();
        const QSignalBlocker block(box);
        while (box->count() > 1)
            box->removeItem(1);
        box->addItems(m_events.valuesOf(static_cast<EventModel::Column>(column)));
        box->setCurrentIndex(before.isEmpty() ? 0 : std::max(0, box->findText(before)));
        m_shown.setWanted(static_cast<EventModel::Column>(column),
                          box->currentIndex() > 0 ? box->currentText() : QString());
    }
}

void EventsDialog::setEvents(const std::vector<pipeline::StoredEvent>& events,
                             const std::vector<Recording>& recordings) {
    const QVariant before = chosen(EventModel::IdRole);
    m_events.setEvents(events, recordings);
    fillFilters();
    for (int row = 0; before.isValid() && row < m_shown.rowCount(); ++row)
        if (m_shown.index(row, 0).data(EventModel::IdRole) == before) m_table->selectRow(row);
    updateButtons();
}

QVariant EventsDialog::chosen(int role) const {
    const QModelIndex index = m_table->currentIndex();
    return index.isValid() && m_table->selectionModel()->isSelected(index) ? index.data(role) : QVariant();
}

void EventsDialog::updateButtons() {
    const bool any = chosen(EventModel::IdRole).isValid();
    m_show->setEnabled(any);
    m_remove->setEnabled(any);
    m_play->setEnabled(any && !chosen(EventModel::FileRole).toString().isEmpty());
    m_count->setText(tr("Events: %1").arg(m_shown.rowCount()));
}

void EventsDialog::showImage() {
    const QModelIndex index = m_table->currentIndex();
    if (index.isValid())
        emit momentWanted(index.data(EventModel::SourceRole).toString(),
                          index.data(EventModel::MomentRole).toLongLong());
}

void EventsDialog::play() {
    const QModelIndex index = m_table->currentIndex();
    const QString file = index.data(EventModel::FileRole).toString();
    if (!file.isEmpty()) emit playWanted(file, index.siblingAtColumn(EventModel::Rule).data().toString());
}

void EventsDialog::remove() {
    std::vector<std::int64_t> ids;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        ids.push_back(index.data(EventModel::IdRole).toLongLong());
    if (!ids.empty()) emit removeWanted(ids);
}

}  // namespace mpm::gui
