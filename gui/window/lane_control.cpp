#include "gui/window/lane_control.hpp"

#include <algorithm>

#include <QCoreApplication>
#include <QDateTime>
#include <QPointer>

#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/legend_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

namespace {

constexpr int kDays = 14;  // the store keeps single readings as long
constexpr qint64 kSlice = 86'400'000;

}  // namespace

LaneControl::LaneControl(const Parts& parts, FrontSource* front) : m_parts(parts), m_front(front) {
    connect(m_parts.sidebar->legend(), &LegendView::laneWanted, this, &LaneControl::toggle);
    LegendModel* legend = &m_parts.models->legend;
    connect(legend, &QAbstractItemModel::modelReset, this, &LaneControl::clear);  // another model
    connect(legend, &LegendModel::styleChanged, this, [this] { apply(m_parts.models->timeline.classes()); });
}

void LaneControl::toggle(int classId) {
    std::vector<int> classes = m_parts.models->timeline.classes();
    const auto found = std::find(classes.begin(), classes.end(), classId);
    if (found != classes.end()) {
        classes.erase(found);
        return apply(classes);
    }
    if (classes.size() >= kMost)
        return emit messagePosted(tr("The timeline has %1 lanes of classes: remove one first").arg(kMost));
    classes.push_back(classId);
    apply(classes);
    load(classId, QDateTime::currentMSecsSinceEpoch(), kDays);
}

void LaneControl::clear() {
    apply({});
}

void LaneControl::reload() {
    for (const int id : m_parts.models->timeline.classes())
        load(id, QDateTime::currentMSecsSinceEpoch(), kDays);
}

void LaneControl::apply(const std::vector<int>& classes) {
    const LegendModel& legend = m_parts.models->legend;
    std::vector<TimelineView::ClassLane> lanes;
    for (const int id : classes)
        lanes.push_back({legend.name(id),
                         legend.index(id, LegendModel::Name).data(LegendModel::ColourRole).value<QColor>()});
    m_parts.models->timeline.setClasses(classes);
    m_parts.timeline->view()->setClassLanes(lanes);
}

/// A day, then the day before: new readings are written between the two.
void LaneControl::load(int classId, qint64 before, int days) {
    const std::string model = m_parts.models->statistics.setup().model;
    Engine& engine = m_front->engine();
    if (days == 0 || model.empty()) return;
    const QPointer<LaneControl> self(this);
    const QString source = engine.sourceName();
    engine.recorder().ask([=](const pipeline::Store& store, std::int64_t id) {
        const auto minutes = store.shareByMinute(id, model, classId, pipeline::Millis(before - kSlice),
                                                 pipeline::Millis(before));
        const auto answer = [=] {
            if (!self || self->m_front->engine().sourceName() != source) return;
            self->m_parts.models->timeline.addShares(classId, minutes);
            self->load(classId, before - kSlice, days - 1);
        };
        QMetaObject::invokeMethod(QCoreApplication::instance(), answer, Qt::QueuedConnection);
    });
}

}  // namespace mpm::gui
