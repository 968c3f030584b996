#include "gui/panels/schedule_view.hpp"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "gui/text/numbers.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr int kBars = 84, kSwitch = 26, kNumber = 16;

bool checked(const QModelIndex& index) {
    return index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
}

void toggle(QAbstractItemModel* model, const QModelIndex& index) {
    model->setData(index, checked(index) ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

/// Paints a bar for the number of tokens that enter a block, and the number if it differs from the previous
/// block's.
void paintBar(QPainter& painter, const QRectF& area, const QModelIndex& index, const Theme& theme) {
    const int tokens = index.data(ScheduleModel::TokensRole).toInt();
    const int all = index.data(ScheduleModel::TokensInRole).toInt();
    const QRectF column = area.adjusted(1.5, 12, -1.5, 0);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(column, 2, 2);
    if (all <= 0) return;
    const double height = column.height() * tokens / all;  // fits: floating point
    painter.setBrush(theme.kept);
    painter.drawRoundedRect(QRectF(column.left(), column.bottom() - height, column.width(), height), 2, 2);
    const QModelIndex before = index.siblingAtRow(index.row() - 1);
    if (before.isValid() && before.data(ScheduleModel::TokensRole).toInt() == tokens) return;
    painter.setPen(theme.text);
    const QRectF text(area.left() - 12, column.bottom() - height - 14, area.width() + 24, 13);
    const bool first = index.row() == 0;
    painter.drawText(first ? text.translated(13, 0) : text,
                     (first ? Qt::AlignLeft : Qt::AlignHCenter) | Qt::AlignVCenter, QString::number(tokens));
}

/// Paints a switch that users can read without seeing colours: up and filled if on, down and hollow if off.
void paintSwitch(QPainter& painter, const QRectF& area, bool on, const Theme& theme) {
    const QRectF body(area.center().x() - 6, area.top() + 3, 12, area.height() - 5);
    painter.setPen(QPen(on ? theme.accent : theme.muted, 1.2));
    painter.setBrush(on ? QBrush(theme.accent) : QBrush(theme.surface));
    painter.drawRoundedRect(body, 6, 6);
    painter.setPen(Qt::NoPen);
    painter.setBrush(on ? theme.onAccent : theme.muted);
    painter.drawEllipse(QPointF(body.center().x(), on ? body.top() + 6 : body.bottom() - 6), 3.6, 3.6);
}

}  // namespace

QString scheduleText(const std::vector<int>& schedule) {
    return schedule.empty() ? BlockList::tr("none") : joined(schedule, QStringLiteral(", "));
}

void BlockDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    const Theme& theme = Theme::of(option.widget);
    const QRectF cell(option.rect);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setFont(scaled(option.font, 0.8));
    paintBar(*painter, QRectF(cell.left(), cell.top(), cell.width(), kBars), index, theme);
    paintSwitch(*painter, QRectF(cell.left(), cell.top() + kBars, cell.width(), kSwitch), checked(index),
                theme);
    const QRectF number(cell.left(), cell.top() + kBars + kSwitch, cell.width(), kNumber);
    painter->setPen(checked(index) ? theme.text : theme.muted);
    painter->drawText(number, Qt::AlignCenter, index.data().toString());
    const bool focused = (option.state & QStyle::State_HasFocus) && option.widget->hasFocus();
    if (focused || (option.state & QStyle::State_MouseOver)) {
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(theme.accent, focused ? 1.5 : 0.8));
        painter->drawRoundedRect(cell.adjusted(0.5, kBars + 0.5, -0.5, -0.5), 3, 3);
    }
    painter->restore();
}

QSize BlockDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    const auto* list = qobject_cast<const BlockList*>(option.widget);
    return list != nullptr ? list->cell() : QSize(22, kBars + kSwitch + kNumber);
}

bool BlockDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem&,
                                const QModelIndex& index) {
    if (event->type() == QEvent::MouseButtonDblClick) return true;  // only a release of the button toggles
    if (event->type() != QEvent::MouseButtonRelease) return false;
    if (static_cast<QMouseEvent*>(event)->button() != Qt::LeftButton) return false;
    toggle(model, index);
    return true;
}

BlockList::BlockList(QWidget* parent) : QListView(parent) {
    setFlow(QListView::LeftToRight);
    setWrapping(false);
    setMovement(QListView::Static);
    setResizeMode(QListView::Adjust);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setMouseTracking(true);
    setFixedHeight(kBars + kSwitch + kNumber + 4);
    setItemDelegate(new BlockDelegate(this));
    setAccessibleName(tr("Blocks before which tokens merge"));
}

QSize BlockList::cell() const {
    const int count = model() == nullptr ? 1 : std::max(1, model()->rowCount());
    return {std::max(13, (viewport()->width() - 1) / count), kBars + kSwitch + kNumber};
}

void BlockList::resizeEvent(QResizeEvent* event) {
    QListView::resizeEvent(event);
    scheduleDelayedItemsLayout();
}

void BlockList::keyPressEvent(QKeyEvent* event) {
    const bool press = event->key() == Qt::Key_Space || event->key() == Qt::Key_Return;
    if (press && currentIndex().isValid()) return toggle(model(), currentIndex());
    QListView::keyPressEvent(event);
}

ScheduleView::ScheduleView(ScheduleModel* model, QWidget* parent)
    : QWidget(parent),
      m_model(model),
      m_list(new BlockList),
      m_presets(new QButtonGroup(this)),
      m_summary(plainLabel()) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    m_summary->setObjectName(QStringLiteral("muted"));
    m_summary->setWordWrap(true);  // a long translation must not widen the panel
    layout->addWidget(m_summary);
    m_list->setModel(model);
    layout->addWidget(m_list);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    layout->addLayout(row);
    addPreset(tr("None"), tr("All tokens through every block"), {});
    addPreset(QStringLiteral("{5}"), tr("Merge before block 5: changes less than {2, 5}"), {5});
    addPreset(QStringLiteral("{2, 5}"), tr("Merge before blocks 2 and 5: the paper's schedule"), {2, 5});
    addPreset(QStringLiteral("{2, 5, 8}"), tr("Merge before blocks 2, 5 and 8"), {2, 5, 8});
    for (QAbstractButton* button : m_presets->buttons())
        row->addWidget(button);
    row->addStretch();
    connect(model, &ScheduleModel::scheduleChanged, this, &ScheduleView::showState);
    connect(model, &QAbstractItemModel::dataChanged, this, &ScheduleView::showState);
    connect(model, &QAbstractItemModel::modelReset, this, &ScheduleView::showState);
    showState();
}

void ScheduleView::addPreset(const QString& text, const QString& tip, const std::vector<int>& schedule) {
    QToolButton* button = smallButton(text, tip);
    button->setCheckable(true);
    m_presets->addButton(button, static_cast<int>(m_schedules.size()));
    m_presets->setExclusive(false);
    m_schedules.push_back(schedule);
    connect(button, &QToolButton::clicked, this, [this, schedule] {
        m_model->setSchedule(schedule);
        showState();
    });
}

void ScheduleView::setOwnSchedule(const std::vector<int>& schedule) {
    for (size_t i = 0; i < m_schedules.size(); ++i)
        m_presets->button(static_cast<int>(i))
            ->setText((i == 0 ? tr("None") : QStringLiteral("{%1}").arg(scheduleText(m_schedules[i]))) +
                      (m_schedules[i] == schedule ? QStringLiteral(" *") : QString()));
}

void ScheduleView::setReuse(ReuseState state) {
    if (state == ReuseState::Full) state = ReuseState::Partial;  // both states look alike: no tokens merge
    if (std::exchange(m_reuse, state) != state) showState();
}

QString ScheduleView::summary() const {
    if (m_model->rowCount() == 0) return tr("No model yet");
    const QString blocks = scheduleText(m_model->schedule());
    if (m_reuse == ReuseState::Partial)
        return tr("Reuse is on: no tokens merge. The schedule is used while too many tokens change.");
    if (m_reuse == ReuseState::Suspended)
        return tr("Too many tokens change for reuse. Merge before: %1. Tokens entering each block:")
            .arg(blocks);
    return m_model->tokensIn() == 0 ? tr("Merge before: %1").arg(blocks)
                                    : tr("Merge before: %1. Tokens entering each block:").arg(blocks);
}

void ScheduleView::showState() {
    const std::vector<int> schedule = m_model->schedule();
    const int blocks = m_model->rowCount();
    for (size_t i = 0; i < m_schedules.size(); ++i) {
        QAbstractButton* button = m_presets->button(static_cast<int>(i));
        button->setEnabled(blocks > 0 && (m_schedules[i].empty() || m_schedules[i].back() < blocks));
        button->setChecked(blocks > 0 && m_schedules[i] == schedule);
    }
    const int in = m_model->tokensIn(), out = m_model->tokensBefore(blocks - 1);
    m_summary->setText(summary());
    setAccessibleDescription(tr("%1 tokens enter, %2 go on").arg(in).arg(out));
}

}  // namespace mpm::gui
