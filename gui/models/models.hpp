// The item models of a window. They contain the data of panels and charts, and use no widget.
#pragma once

#include "gui/engine/saved_time.hpp"
#include "gui/models/alert_model.hpp"
#include "gui/models/health_model.hpp"
#include "gui/models/legend_model.hpp"
#include "gui/models/object_model.hpp"
#include "gui/models/region_model.hpp"
#include "gui/models/schedule_model.hpp"
#include "gui/models/statistics_model.hpp"
#include "gui/models/timeline_data.hpp"

namespace mpm::gui {

struct Models {
    ScheduleModel schedule;
    LegendModel legend;
    StatisticsModel statistics;
    HealthModel health;
    TimelineData timeline;
    AlertModel alerts;
    RegionModel regions;
    ObjectModel objects;
    SavedTime saved;
};

}  // namespace mpm::gui
