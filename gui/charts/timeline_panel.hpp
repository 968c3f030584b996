// The timeline with ranges and export.
#pragma once

#include <QFrame>

class QButtonGroup;
class QStackedLayout;
class QToolButton;

namespace mpm::gui {

class TimelineData;
class HourView;
class TimelineView;

class TimelinePanel : public QFrame {
    Q_OBJECT
public:
    explicit TimelinePanel(const TimelineData* data, QWidget* parent = nullptr);

    TimelineView* view() const { return m_view; }
    void chooseRange(int index);
    int ranges() const;
    HourView* hours() const { return m_hourView; }
    /// The heat map by hour and date, or the timeline.
    void showHours(bool shown);
    bool hoursShown() const;
    QWidget* shown() const;

signals:
    void exportWanted();
    /// The timeline takes the place of the views, or gives it back.
    void tallWanted(bool tall);

private:
    void showRange();

    TimelineView* m_view;
    HourView* m_hourView;
    QStackedLayout* m_stack;
    QToolButton* m_hours;
    QButtonGroup* m_ranges;
};

}  // namespace mpm::gui
