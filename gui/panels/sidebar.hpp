// The side panel: schedule, classes, day and night, regions, alerts, health.
#pragma once

#include <QScrollArea>
#include <QStringList>

class QAbstractItemModel;

namespace mpm::gui {

class AlertModel;
class HealthModel;
class LegendModel;
class LegendView;
class RegionModel;
class ScheduleModel;
class ScheduleView;
class Section;
class StatisticsModel;

class Sidebar : public QScrollArea {
    Q_OBJECT
public:
    struct Models {
        ScheduleModel* schedule;
        LegendModel* legend;
        StatisticsModel* statistics;
        HealthModel* health;
        AlertModel* alerts;
        RegionModel* regions;
    };
    explicit Sidebar(const Models& models, QWidget* parent = nullptr);

    ScheduleView* schedule() const { return m_schedule; }
    LegendView* legend() const { return m_legend; }
    QStringList folded() const;
    void setFolded(const QStringList& names);

private:
    Section* add(const QString& name, const QString& title, QWidget* content);
    Section* addListed(const QString& name, const QString& title, QAbstractItemModel* model,
                       const QString& description);

    ScheduleView* m_schedule;
    LegendView* m_legend;
    QList<Section*> m_sections;
};

}  // namespace mpm::gui
