// The timeline, with buttons for its range and for export.
#pragma once

#include <vector>

#include <QFrame>
#include <QStackedLayout>
#include <QToolButton>

class QButtonGroup;
class QComboBox;
class QMenu;

namespace mpm::gui {

class TimelineData;
class ElidedLabel;
class HourView;
struct Curve;
struct Lane;
class TimelineView;

class TimelinePanel : public QFrame {
    Q_OBJECT
public:
    explicit TimelinePanel(const TimelineData* data, QWidget* parent = nullptr);

    TimelineView* view() const { return m_view; }
    void chooseRange(int index);
    int ranges() const;
    HourView* hours() const { return m_hourView; }
    /// Shows the heat map by hour and date if `shown`, otherwise the timeline.
    void showHours(bool shown);
    bool hoursShown() const { return m_stack->currentIndex() == 1; }
    QWidget* shown() const { return m_stack->currentWidget(); }
    void endTall() { m_tall->setChecked(false); }
    /// Sets the lanes of the timeline. The heat map can show the tokens, every field, and the quantities that
    /// have a lane.
    void setLanes(const std::vector<Lane>& lanes);
    void setLaneMenu(QMenu* menu) { m_lanes->setMenu(menu); }

signals:
    void exportWanted();
    /// If `tall`, the timeline should take the place of the views; otherwise the views should appear again.
    void tallWanted(bool tall);

private:
    std::vector<Curve> curves() const;
    void showRange();

    TimelineView* m_view;
    HourView* m_hourView;
    QStackedLayout* m_stack;
    QToolButton *m_hours, *m_lanes, *m_tall;
    ElidedLabel* m_title;
    QComboBox* m_curve;
    QButtonGroup* m_ranges;
};

}  // namespace mpm::gui
