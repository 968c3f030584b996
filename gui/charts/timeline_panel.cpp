#include "gui/charts/timeline_panel.hpp"

#include <algorithm>

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QStackedLayout>
#include <QToolButton>

#include "gui/charts/hour_view.hpp"
#include "gui/charts/time_axis.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/widgets/elided_label.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

namespace {

constexpr std::int64_t kLengths[] = {kMinute, 10 * kMinute, kHour, kDay, 7 * kDay, 0};

}  // namespace

TimelinePanel::TimelinePanel(const TimelineData* data, QWidget* parent)
    : QFrame(parent),
      m_view(new TimelineView(data)),
      m_hourView(new HourView(data)),
      m_stack(new QStackedLayout),
      m_hours(new QToolButton),
      m_ranges(new QButtonGroup(this)) {
    setObjectName(QStringLiteral("card"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(10, 6, 6, 4);
    layout->setSpacing(4);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    layout->addLayout(row);
    auto* title = new ElidedLabel(tr("Timeline"));
    QFont bold = font();
    bold.setBold(true);
    title->setFont(bold);
    row->addWidget(title, 1);
    const QString names[] = {tr("1 min"), tr("10 min"), tr("1 h"), tr("1 day"), tr("1 week"), tr("All")};
    for (int i = 0; i < int(std::size(kLengths)); ++i) {
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("small"));
        button->setText(names[i]);
        button->setCheckable(true);
        m_ranges->addButton(button, i);
        row->addWidget(button);
    }
    m_hours->setObjectName(QStringLiteral("small"));
    m_hours->setText(tr("Hours"));
    setPlainToolTip(m_hours, tr("Tokens by hour of the day and date"));
    m_hours->setCheckable(true);
    connect(m_hours, &QToolButton::clicked, this, &TimelinePanel::showHours);
    auto* csv = new QToolButton;
    csv->setObjectName(QStringLiteral("small"));
    csv->setText(tr("Export…"));
    setPlainToolTip(csv, tr("Every measurement of the range shown, as CSV or JSON"));
    auto* tall = new QToolButton;
    tall->setObjectName(QStringLiteral("tall"));
    tall->setText(QStringLiteral("⤢"));
    tall->setCheckable(true);
    tall->setAccessibleName(tr("Full height"));
    setPlainToolTip(tall, tr("The timeline takes the place of the views"));
    connect(tall, &QToolButton::toggled, this, &TimelinePanel::tallWanted);
    row->addSpacing(4);
    row->addWidget(tall);
    row->addWidget(m_hours);
    row->addSpacing(4);
    row->addWidget(csv);
    m_stack->addWidget(m_view);
    m_stack->addWidget(m_hourView);
    layout->addLayout(m_stack, 1);
    connect(csv, &QToolButton::clicked, this, &TimelinePanel::exportWanted);
    connect(m_ranges, &QButtonGroup::idClicked, this, &TimelinePanel::chooseRange);
    connect(m_view, &TimelineView::rangeChanged, this, &TimelinePanel::showRange);
    chooseRange(1);
}

int TimelinePanel::ranges() const {
    return static_cast<int>(std::size(kLengths));
}

void TimelinePanel::chooseRange(int index) {
    if (index < 0 || index >= ranges()) return;
    showHours(false);
    m_view->follow(kLengths[index]);
}

void TimelinePanel::showHours(bool shown) {
    m_stack->setCurrentIndex(shown ? 1 : 0);
    m_hours->setChecked(shown);
}

bool TimelinePanel::hoursShown() const {
    return m_stack->currentIndex() == 1;
}

QWidget* TimelinePanel::shown() const {
    return m_stack->currentWidget();
}

/// A range set by zooming or panning belongs to no button. A young timeline belongs to the shortest range
/// that shows it whole.
void TimelinePanel::showRange() {
    m_ranges->setExclusive(false);
    const std::int64_t wanted = m_view->followedLength();
    const auto* const chosen = std::find(std::begin(kLengths), std::end(kLengths), wanted);
    const auto* lit = m_view->following() ? chosen : std::end(kLengths);
    if (lit != std::end(kLengths) && wanted > 0)
        lit = std::find_if(std::begin(kLengths), chosen,
                           [this](std::int64_t length) { return m_view->shownLength() <= length; });
    for (int i = 0; i < ranges(); ++i)
        m_ranges->button(i)->setChecked(kLengths + i == lit);
    m_ranges->setExclusive(true);
}

}  // namespace mpm::gui
