#include "pipeline/objects/follower.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pipeline/objects/frame_objects.hpp"

namespace mpm::pipeline {

namespace {

constexpr const char* kEvery = "*";
constexpr double kClockSet = 1;  // seconds; if the two clocks drift apart by more, the wall clock was set

template <typename T>
bool has(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Returns the ids of `classes`. Each entry of `classes` is a name that the model gives to a class (in
/// `names`), a name that the user gives to a class (in `shown`), or "*".
std::vector<int> idsOf(const std::vector<std::string>& classes, const std::vector<std::string>& names,
                       const std::vector<std::string>& shown, bool detector) {
    const bool every = has(classes, std::string(kEvery));
    const std::vector<int> things = detector ? std::vector<int>() : thingsAmong(names);
    std::vector<int> ids;
    for (int id = 0; id < static_cast<int>(std::max(names.size(), shown.size())); ++id) {
        const auto at = static_cast<std::size_t>(id);
        const bool named =
            (at < names.size() && has(classes, names[at])) || (at < shown.size() && has(classes, shown[at]));
        if (named || (every && (detector || has(things, id)))) ids.push_back(id);
    }
    return ids;
}

std::vector<std::string> namesOf(const std::vector<Region>& regions) {
    std::vector<std::string> names;
    for (const Region& region : regions)
        names.push_back(region.name);
    return names;
}

bool isCovered(const cv::Rect2f& box, const ObjectFollower::Frame& frame) {
    const cv::Point2d middle((box.x + box.width / 2) / double(frame.size.width),
                             (box.y + box.height / 2) / double(frame.size.height));
    return frame.masks != nullptr &&
           std::any_of(frame.masks->begin(), frame.masks->end(),
                       [&](const Polygon& mask) { return mask.size() > 2 && contains(mask, middle); });
}

}  // namespace

int ObjectFollower::idOf(const std::string& name) const {
    const auto at = std::find(m_setup.names.begin(), m_setup.names.end(), name);
    const int id = static_cast<int>(at - m_setup.names.begin());
    return at != m_setup.names.end() && has(m_classes, id) ? id : -1;
}

void ObjectFollower::continueWith(const Setup& setup) {
    const std::vector<std::string> before = std::exchange(m_setup, setup).names;
    m_classes = idsOf(m_setup.classes, m_setup.names, m_setup.shown, m_setup.detector);
    m_seen.clear();
    m_tracker->relabel(trackRules(usualThreshold(m_setup.detector)),
                       [&](int label) { return idOf(storedName(label, before)); });
}

void ObjectFollower::begin(const KnownObjects& known, cv::Size image) {
    m_classes = idsOf(m_setup.classes, m_setup.names, m_setup.shown, m_setup.detector);
    std::vector<TrackedObject> objects;
    for (const KnownObject& one : known.present) {
        const int label = idOf(one.label);
        const double sizes[] = {one.place.x, one.place.y, one.place.width, one.place.height};
        const bool sane =
            std::all_of(std::begin(sizes), std::end(sizes), [](double v) { return std::abs(v) < 1e3; }) &&
            one.place.width > 0 && one.place.height > 0 && one.last >= one.since;
        if (label < 0 || !sane) continue;
        TrackedObject object;
        object.id = one.id;
        object.label = label;
        const cv::Rect2d& place = one.place;
        object.box = cv::Rect2d(place.x * double(image.width), place.y * double(image.height),
                                place.width * double(image.width), place.height * double(image.height));
        object.state = one.still > Millis(0) ? ObjectState::Stays : ObjectState::Moves;
        object.still = double(one.still.count()) / 1000;
        object.since = double(one.since.count()) / 1000;
        object.last = double(one.last.count()) / 1000;
        object.boxes = 2;
        objects.push_back(std::move(object));
    }
    m_tracker.emplace(trackRules(usualThreshold(m_setup.detector)));
    m_tracker->restore(objects, known.nextId);
    m_seen.clear();
    m_last.reset();
}

std::vector<Detection> ObjectFollower::boxesOf(const Segmentation& found, const Frame& frame) const {
    std::vector<Detection> boxes = found.detections;
    if (!found.detector && !found.labels.empty())
        boxes = regionObjects(found.labels, m_classes, 0, found.scores);
    boxes.erase(std::remove_if(boxes.begin(), boxes.end(),
                               [&](const Detection& one) {
                                   return !has(m_classes, one.label) || isCovered(one.box, frame);
                               }),
                boxes.end());
    return boxes;
}

/// Counts objects by class; 0 for a followed class without objects. If every class of a detector is followed,
/// leaves out classes that were never seen, because a detector may have thousands of classes.
void ObjectFollower::count(FollowedObjects& all, const std::vector<Region>& regions) {
    const bool few = !m_setup.detector || !has(m_setup.classes, std::string(kEvery));
    for (const TrackedObject& one : all.objects)
        m_seen.insert(one.label);
    std::map<int, int> none;
    for (const int id : m_classes)
        if (few || m_seen.count(id) > 0) none[id] = 0;
    all.counts = none;
    m_regions = namesOf(regions);
    all.byRegion.assign(regions.size(), none);
    for (const TrackedObject& one : all.objects) {
        if (one.state == ObjectState::Left) continue;
        ++all.counts[one.label];
        for (std::size_t i = 0; i < regions.size(); ++i)
            if (one.stays.count(regions[i].name) > 0) ++all.byRegion[i][one.label];
    }
}

FollowedObjectsPtr ObjectFollower::update(const Segmentation& found, const Frame& frame,
                                          const FollowWish& wish, const std::vector<std::string>& names,
                                          const std::vector<std::string>& shown) {
    if (wish.classes.empty() || !wish.known || frame.size.empty()) {
        if (wish.classes.empty()) m_tracker.reset();
        return nullptr;
    }
    const Setup setup{wish.classes, names, shown, found.detector};
    if (!m_tracker || frame.generation != m_generation) {
        m_setup = setup;
        begin(*wish.known, frame.size);
    } else if (!(setup == m_setup)) {  // the source is the same, so objects keep their ids
        continueWith(setup);
    } else if (m_last && frame.seconds == m_seconds) {
        return m_regions == namesOf(wish.regions) ? m_last : recounted(wish.regions);
    }
    const double set = frame.seconds - m_seconds - (frame.steady - m_steady);
    if (m_last && std::abs(set) > kClockSet) m_tracker->moveClock(set);
    m_generation = frame.generation;
    m_seconds = frame.seconds;
    m_steady = frame.steady;
    auto all = std::make_shared<FollowedObjects>();
    m_tracker->setRegions(wish.regions);
    all->objects = m_tracker->update(boxesOf(found, frame), frame.seconds, frame.size);
    all->nextId = m_tracker->nextId();
    count(*all, wish.regions);
    return m_last = all;
}

FollowedObjectsPtr ObjectFollower::recounted(const std::vector<Region>& regions) {
    auto all = std::make_shared<FollowedObjects>(*m_last);
    count(*all, regions);
    return m_last = all;
}

FollowedObjectsPtr withDepartures(const FollowedObjects& missed, const FollowedObjectsPtr& now) {
    auto all = std::make_shared<FollowedObjects>(*now);
    for (const TrackedObject& one : missed.objects) {
        const auto same = std::find_if(all->objects.begin(), all->objects.end(),
                                       [&](const TrackedObject& other) { return other.id == one.id; });
        if (same != all->objects.end())
            same->left.insert(one.left.begin(), one.left.end());
        else if (one.state == ObjectState::Left)
            all->objects.push_back(one);
    }
    return all;
}

KnownObjects knownFrom(const FollowedObjects& objects, cv::Size image,
                       const std::vector<std::string>& names) {
    KnownObjects known{objects.nextId, {}};
    const auto millis = [](double seconds) {
        return Millis(static_cast<std::int64_t>(std::clamp(seconds, -1e13, 1e13) * 1000));
    };
    for (const TrackedObject& one : objects.objects) {
        if (one.state == ObjectState::Left || image.empty()) continue;
        known.present.push_back(
            {one.id,
             storedName(one.label, names),
             {one.box.x / double(image.width), one.box.y / double(image.height),
              one.box.width / double(image.width), one.box.height / double(image.height)},
             millis(one.since),
             millis(one.last),
             one.state == ObjectState::Stays ? std::max(Millis(1), millis(one.still)) : Millis(0)});
    }
    return known;
}

}  // namespace mpm::pipeline
