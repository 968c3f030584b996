#include "gui/charts/timeline_panel.hpp"

#include <algorithm>

#include <QButtonGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QMenu>

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
      m_hours(smallButton(tr("Hours"), tr("A quantity by hour of the day and date"))),
      m_lanes(smallButton(QStringLiteral("≡"), tr("Choose the lanes: luminance, latency, classes, regions"))),
      m_title(new ElidedLabel(tr("Timeline"))),
      m_curve(new QComboBox),
      m_ranges(new QButtonGroup(this)) {
    setObjectName(QStringLiteral("card"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(10, 6, 6, 4);
    layout->setSpacing(4);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    layout->addLayout(row);
    m_title->setFont(bold(font()));
    row->addWidget(m_title, 1);
    m_curve->setAccessibleName(tr("Quantity by hour and date"));
    m_curve->setMinimumContentsLength(6);
    m_curve->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_curve->hide();
    row->addWidget(m_curve, 1);
    const QString names[] = {tr("1 min"), tr("10 min"), tr("1 h"), tr("1 day"), tr("1 week"), tr("All")};
    for (int i = 0; i < int(std::size(kLengths)); ++i) {
        QToolButton* button = smallButton(names[i]);
        button->setCheckable(true);
        m_ranges->addButton(button, i);
        row->addWidget(button);
    }
    m_hours->setCheckable(true);
    connect(m_hours, &QToolButton::clicked, this, &TimelinePanel::showHours);
    auto* csv =
        smallButton(QStringLiteral("⤓"), tr("Export every measurement of the range shown, as CSV or JSON"));
    csv->setAccessibleName(tr("Export…"));
    m_tall = smallButton(QStringLiteral("⤢"), tr("The timeline takes the place of the views"));
    m_tall->setObjectName(QStringLiteral("tall"));
    m_tall->setCheckable(true);
    m_tall->setAccessibleName(tr("Full height"));
    connect(m_tall, &QToolButton::toggled, this, &TimelinePanel::tallWanted);
    m_lanes->setPopupMode(QToolButton::InstantPopup);
    m_lanes->setAccessibleName(tr("Lanes"));
    row->addSpacing(4);
    row->addWidget(m_lanes);
    row->addWidget(m_tall);
    row->addWidget(m_hours);
    row->addSpacing(4);
    row->addWidget(csv);
    m_stack->addWidget(m_view);
    m_stack->addWidget(m_hourView);
    layout->addLayout(m_stack, 1);
    connect(csv, &QToolButton::clicked, this, &TimelinePanel::exportWanted);
    connect(m_ranges, &QButtonGroup::idClicked, this, &TimelinePanel::chooseRange);
    connect(m_view, &TimelineView::rangeChanged, this, &TimelinePanel::showRange);
    connect(m_curve, &QComboBox::activated, this, [this](int index) {
        const std::vector<Curve> curves = this->curves();
        if (index < static_cast<int>(curves.size())) m_hourView->setCurve(curves[std::size_t(index)]);
    });
    setLanes(m_view->lanes());
    chooseRange(1);
}

std::vector<Curve> TimelinePanel::curves() const {
    std::vector<Curve> curves{tokensCurve()};
    std::vector<Lane> lanes = fieldLanes();
    for (const Lane& lane : m_view->lanes())
        if (lane.curves.front().quantity) lanes.push_back(lane);
    for (const Lane& lane : lanes)
        curves.insert(curves.end(), lane.curves.begin(), lane.curves.end());
    return curves;
}

void TimelinePanel::setLanes(const std::vector<Lane>& lanes) {
    m_view->setLanes(lanes);
    const QString before = m_curve->currentText();
    m_curve->clear();
    for (const Curve& curve : curves())
        m_curve->addItem(curve.name);
    m_curve->setCurrentIndex(std::max(0, m_curve->findText(before)));
    m_hourView->setCurve(curves()[std::size_t(m_curve->currentIndex())]);
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
    m_title->setVisible(!shown);
    m_curve->setVisible(shown);
}

/// Checks the button of the range shown. After zooming or panning, checks no button. If the data cover
/// less time than the range, checks the button of the shortest range that contains all data.
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
