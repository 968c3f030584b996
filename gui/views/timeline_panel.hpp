// The timeline with its ranges and its export.
#pragma once

#include <QFrame>

class QButtonGroup;

namespace mpm::gui {

class TimelineData;
class TimelineView;

class TimelinePanel : public QFrame {
    Q_OBJECT
public:
    explicit TimelinePanel(const TimelineData* data, QWidget* parent = nullptr);

    TimelineView* view() const { return m_view; }
    void chooseRange(int index);
    int ranges() const;

signals:
    void exportWanted();

private:
    void showRange();

    TimelineView* m_view;
    QButtonGroup* m_ranges;
};

}  // namespace mpm::gui
