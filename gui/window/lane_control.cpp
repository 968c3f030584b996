#include "gui/window/lane_control.hpp"

#include <algorithm>
#include <array>

#include <QCoreApplication>
#include <QDateTime>
#include <QPointer>
#include <QRegularExpression>

#include "gui/charts/time_axis.hpp"
#include "gui/charts/timeline_panel.hpp"
#include "gui/charts/timeline_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

namespace {

using pipeline::Quantity;
using Kind = Quantity::Kind;

constexpr int kDays = 14;  // days to load; the store keeps single readings this long

/// The keys of lanes in settings: KIND|CLASS|REGION. Kinds without a class omit CLASS, and kinds without a
/// region omit REGION.
struct KeyForm {
    const char* name;
    bool ofClass, ofRegion;
};
constexpr std::array kForms = {KeyForm{"share", true, false}, KeyForm{"region", false, true},
                               KeyForm{"region-share", true, true}, KeyForm{"objects", true, false},
                               KeyForm{"region-objects", true, true}};

bool isOfObjects(Kind kind) {
    return kind == Kind::ClassObjects || kind == Kind::RegionObjects;
}

}  // namespace

LaneControl::LaneControl(const Parts& parts, FrontSource* front) : m_parts(parts), m_front(front) {
    connect(m_parts.sidebar, &Sidebar::laneWanted, this, qOverload<const Quantity&>(&LaneControl::toggle));
    connect(front, &FrontSource::modelMeasured, this, &LaneControl::reload);
    LegendModel* legend = &m_parts.models->legend;
    connect(legend, &QAbstractItemModel::modelReset, this, &LaneControl::apply);  // emitted for another model
    connect(legend, &LegendModel::styleChanged, this, &LaneControl::apply);
    connect(legend, &QAbstractItemModel::dataChanged, this, [this](const QModelIndex& first) {
        if (first.column() == LegendModel::Name) followNames();
    });
    connect(&m_parts.models->regions, &QAbstractItemModel::modelReset, this, &LaneControl::apply);
    m_menu.setTitle(tr("&Lanes"));
    connect(&m_menu, &QMenu::aboutToShow, this, &LaneControl::fillMenu);
    m_parts.timeline->setLaneMenu(&m_menu);
    apply();
}

QString LaneControl::keyOf(const Quantity& quantity) const {
    const KeyForm& form = kForms.at(static_cast<std::size_t>(quantity.kind));
    QStringList parts{QLatin1String(form.name)};
    if (form.ofClass) parts << m_parts.models->legend.name(quantity.classId);
    if (form.ofRegion) parts << QString::fromStdString(quantity.region);
    return parts.join(QLatin1Char('|'));
}

/// Returns the quantity of a key; absent if the model lacks the class or the source lacks the region.
std::optional<Quantity> LaneControl::quantityOf(const QString& key) const {
    QStringList parts = key.split(QLatin1Char('|'));
    const auto* const form = std::find_if(kForms.begin(), kForms.end(), [&parts](const KeyForm& candidate) {
        return parts.front() == QLatin1String(candidate.name);
    });
    if (form == kForms.end()) return {};
    Quantity quantity;
    quantity.kind = static_cast<Kind>(form - kForms.begin());
    parts.removeFirst();
    const LegendModel& legend = m_parts.models->legend;
    if (form->ofClass) {
        const QString name = parts.isEmpty() ? QString() : parts.takeFirst();
        for (int id = legend.rowCount() - 1; id >= 0; --id)
            if (legend.name(id) == name) quantity.classId = id;
        if (quantity.classId < 0) return {};
    }
    if (!form->ofRegion) return quantity;
    quantity.region = parts.join(QLatin1Char('|')).toStdString();
    const std::vector<std::string> regions = m_parts.models->regions.names();
    if (std::find(regions.begin(), regions.end(), quantity.region) == regions.end()) return {};
    return quantity;
}

void LaneControl::toggle(const QString& key) {
    QStringList& keys = m_parts.session->state().lanes;
    const auto quantity = quantityOf(key);
    if (keys.removeAll(key) > 0) return apply();
    if (quantity && m_parts.models->timeline.quantities().size() >= kMost)
        return emit messagePosted(
            tr("The timeline has %1 lanes of classes and regions: remove one first").arg(kMost));
    keys << key;
    apply();
    if (quantity) load(*quantity, QDateTime::currentMSecsSinceEpoch(), kDays);
}

void LaneControl::apply() {
    const LegendModel& legend = m_parts.models->legend;
    const QStringList& keys = m_parts.session->state().lanes;
    std::vector<Lane> lanes;
    std::vector<Quantity> quantities;
    for (Lane& lane : fieldLanes())
        if (keys.contains(lane.key)) lanes.push_back(std::move(lane));
    for (const QString& key : keys) {
        const auto quantity = quantityOf(key);
        if (!quantity || quantities.size() >= kMost) continue;
        QString name = QString::fromStdString(quantity->region);
        QColor colour;  // invalid for tokens, which have the theme's colour
        if (quantity->classId >= 0) {
            const QString label = legend.name(quantity->classId);
            name = name.isEmpty() ? label : tr("%1: %2").arg(name, label);
            if (isOfObjects(quantity->kind)) name = tr("%1, number").arg(name);
            colour = legend.index(quantity->classId, LegendModel::Name)
                         .data(LegendModel::ColourRole)
                         .value<QColor>();
        } else {
            name = tr("%1: tokens").arg(name);
        }
        lanes.push_back(quantityLane(key, static_cast<int>(quantities.size()), name, colour,
                                     isOfObjects(quantity->kind)));
        if (quantity->classId < 0) lanes.back().curves.front().themed = &Theme::kept;
        quantities.push_back(*quantity);
    }
    m_parts.models->timeline.setQuantities(quantities);
    m_parts.timeline->setLanes(lanes);
}

/// After a class is renamed, changes the keys of its lanes, so that the lanes remain.
void LaneControl::followNames() {
    QStringList& keys = m_parts.session->state().lanes;
    const std::vector<Lane>& lanes = m_parts.timeline->view()->lanes();
    const std::vector<Quantity>& quantities = m_parts.models->timeline.quantities();
    const std::size_t fields = lanes.size() - quantities.size();
    for (std::size_t i = 0; i < quantities.size(); ++i)
        keys.replaceInStrings(QRegularExpression(QRegularExpression::anchoredPattern(
                                  QRegularExpression::escape(lanes[fields + i].key))),
                              keyOf(quantities[i]));
    apply();
}

void LaneControl::fillMenu() {
    m_menu.clear();
    const QStringList& keys = m_parts.session->state().lanes;
    for (const Lane& lane : fieldLanes()) {
        QAction* action = m_menu.addAction(lane.curves.front().name);
        action->setCheckable(true);
        action->setChecked(keys.contains(lane.key));
        connect(action, &QAction::triggered, this, [this, key = lane.key] { toggle(key); });
    }
    m_menu.addSeparator();
    addQuantities(m_menu.addMenu(tr("Share of a class")), Kind::ClassShare, {});
    addQuantities(m_menu.addMenu(tr("Number of objects")), Kind::ClassObjects, {});
    for (const std::string& region : m_parts.models->regions.names()) {
        QMenu* menu =
            m_menu.addMenu(QString::fromStdString(region).replace(QLatin1Char('&'), QLatin1String("&&")));
        addQuantities(menu, Kind::RegionTokens, region);
        addQuantities(menu, Kind::RegionShare, region);
        addQuantities(menu->addMenu(tr("Number of objects")), Kind::RegionObjects, region);
    }
}

void LaneControl::addQuantities(QMenu* menu, Kind kind, const std::string& region) {
    const auto add = [&](const Quantity& quantity, QString name) {
        const QString key = keyOf(quantity);
        QAction* action = menu->addAction(name.replace(QLatin1Char('&'), QLatin1String("&&")));
        action->setCheckable(true);
        action->setChecked(m_parts.session->state().lanes.contains(key));
        connect(action, &QAction::triggered, this, [this, key] { toggle(key); });
    };
    const LegendModel& legend = m_parts.models->legend;
    if (kind == Kind::RegionTokens) return add({kind, -1, region}, tr("Tokens kept"));
    for (int id = 0; id < legend.rowCount(); ++id)
        add({kind, id, region}, legend.name(id));
}

void LaneControl::reload() {
    for (const Quantity& quantity : m_parts.models->timeline.quantities())
        load(quantity, QDateTime::currentMSecsSinceEpoch(), kDays);
}

/// Loads one day at a time, the newest day first, so that the recorder can write new readings between two
/// loads. For the last hour, also loads single readings.
void LaneControl::load(const Quantity& quantity, qint64 before, int days) {
    using pipeline::Millis;
    const std::string model = m_parts.models->statistics.setup().model;
    Engine& engine = m_front->engine();
    if (days == 0 || model.empty()) return;
    const QPointer<LaneControl> self(this);
    const QString source = engine.sourceName();
    engine.recorder().ask([=](const pipeline::Store& store, std::int64_t id) {
        const bool newest = days == kDays;
        const Millis from(before - kDay), to = newest ? Millis(before) + kAhead : Millis(before);
        const auto minutes = store.quantity(id, model, quantity, from, to);
        std::vector<pipeline::QuantitySpan> readings;
        if (newest)
            readings = store.quantity(id, model, quantity, Millis(before - kHour), Millis(before), Millis(1));
        const auto answer = [=] {
            if (!self || self->m_front->engine().sourceName() != source) return;
            self->m_parts.models->timeline.addPast(quantity, minutes, readings);
            self->load(quantity, before - kDay, days - 1);
        };
        QMetaObject::invokeMethod(QCoreApplication::instance(), answer, Qt::QueuedConnection);
    });
}

}  // namespace mpm::gui
