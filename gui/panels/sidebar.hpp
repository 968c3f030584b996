// The side panel: schedule, classes, day and night, regions, objects, alerts, health.
#pragma once

#include <QScrollArea>
#include <QStringList>

#include "pipeline/store/reading.hpp"

class QAbstractItemModel;
class QComboBox;

namespace mpm::gui {

class LegendView;
class ScheduleView;
class Section;
struct Models;

class Sidebar : public QScrollArea {
    Q_OBJECT
public:
    /// The models must outlive the panel.
    explicit Sidebar(Models& models, QWidget* parent = nullptr);

    ScheduleView* schedule() const { return m_schedule; }
    LegendView* legend() const { return m_legend; }
    /// Shows or hides the legend; a model without classes has none.
    void setClassesShown(bool shown);
    /// Sets the span over which day and night are compared, in hours; 0: all readings.
    void setComparedHours(int hours);
    QStringList folded() const;
    void setFolded(const QStringList& names);

signals:
    /// Emitted if the user wants to add the lane of a quantity to the timeline, or to remove the lane.
    void laneWanted(const mpm::pipeline::Quantity& quantity);
    void comparedHoursChosen(int hours);
    /// `time`: of the chosen row, in milliseconds since 1970. `source`: if empty, the source in front.
    void momentChosen(qint64 time, const QString& source = {});

private:
    QWidget* makeComparison(Models& models);
    Section* add(const QString& name, const QString& title, QWidget* content);
    Section* addListed(const QString& name, const QString& title, QAbstractItemModel* model,
                       const QString& description);

    ScheduleView* m_schedule;
    LegendView* m_legend;
    Section* m_classes = nullptr;
    QComboBox* m_span = nullptr;
    QList<Section*> m_sections;
};

}  // namespace mpm::gui
