#include "pipeline/objects/tracker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pipeline/metric/tracks.hpp"
#include "pipeline/objects/track.hpp"

namespace mpm::pipeline {

namespace {

constexpr size_t kLongestPath = 256;
constexpr size_t kLargestGroup = 150;  // larger groups are matched greedily, largest overlap first
constexpr double kLongestStep = 2;     // limit on the seconds that a pause adds to Track::unwatched
constexpr double kFewFrames = 3;       // an object that Stays survives this many frames without a box
constexpr double kPause = 10;          // the time between two frames is a pause if it exceeds kPause * m_step
constexpr double kLongestWay = 3;      // seconds for which an object without a box is assumed to move on
constexpr double kStepHalves = .2;  // half-life, in seconds, of the weight of earlier movement in Track::step
constexpr double kShortGap = 1.2;   // seconds without a box during which likeness() also uses the last place
constexpr int kKnownWay = 3;        // number of boxes after which likeness() mainly uses the expected place

cv::Point2f middleOf(const cv::Rect2f& box) {
    return {box.x + box.width / 2, box.y + box.height / 2};
}

double overlapOf(const cv::Rect2f& a, const cv::Rect2f& b) {
    const double both = (a & b).area();
    return both <= 0 ? 0 : both / (double(a.area()) + b.area() - both);
}

struct Link {
    int track, box;
    double overlap;
};

/// Chooses links, at most one for each track and each box. A group is a set of tracks and boxes that links
/// connect. In a small group, the sum of the chosen overlaps is the largest possible. In a large group, links
/// with larger overlaps are chosen first.
class Groups {
public:
    explicit Groups(std::vector<Link> links) : m_links(std::move(links)) {
        for (const Link& link : m_links)
            m_parent[root(link.track)] = root(-1 - link.box);
    }
    std::vector<Link> chosen() {
        std::map<int, std::vector<Link>> groups;
        for (const Link& link : m_links)
            groups[root(link.track)].push_back(link);
        std::vector<Link> all;
        for (const auto& [node, links] : groups)
            for (const Link& link : chosenOf(links))
                all.push_back(link);
        return all;
    }

private:
    int root(int node) {
        m_parent.emplace(node, node);
        while (m_parent[node] != node)
            node = m_parent[node] = m_parent[m_parent[node]];
        return node;
    }
    static std::vector<Link> chosenOf(const std::vector<Link>& links) {
        std::map<int, int> tracks, boxes;
        for (const Link& link : links) {
            tracks.emplace(link.track, static_cast<int>(tracks.size()));
            boxes.emplace(link.box, static_cast<int>(boxes.size()));
        }
        if (tracks.size() > kLargestGroup || boxes.size() > kLargestGroup) return greedy(links);
        cv::Mat_<double> costs(int(tracks.size()), int(boxes.size()), 0.);
        cv::Mat_<int> index(costs.size(), -1);
        for (size_t i = 0; i < links.size(); ++i) {
            const int row = tracks[links[i].track], column = boxes[links[i].box];
            costs(row, column) = -links[i].overlap;
            index(row, column) = static_cast<int>(i);
        }
        std::vector<Link> best;
        for (const auto& [row, column] : leastAssignment(costs))
            if (index(row, column) >= 0) best.push_back(links[index(row, column)]);
        return best;
    }
    static std::vector<Link> greedy(std::vector<Link> links) {
        std::stable_sort(links.begin(), links.end(),
                         [](const Link& a, const Link& b) { return a.overlap > b.overlap; });
        std::map<int, bool> track, box;
        std::vector<Link> best;
        for (const Link& link : links) {
            if (track[link.track] || box[link.box]) continue;
            track[link.track] = box[link.box] = true;
            best.push_back(link);
        }
        return best;
    }

    std::vector<Link> m_links;
    std::map<int, int> m_parent;
};

/// Returns a positive number if `point` is on the left of a viewer who looks from `from` to `to`.
double sideOf(cv::Point2d from, cv::Point2d to, cv::Point2d point) {
    return (to.y - from.y) * (point.x - from.x) - (to.x - from.x) * (point.y - from.y);
}

}  // namespace

const char* stateName(ObjectState state) {
    constexpr const char* kNames[] = {"arrived", "moves", "stays", "left"};
    return kNames[static_cast<int>(state)];
}

ObjectTracker::ObjectTracker(const TrackRules& rules) : m_rules(rules) {}
ObjectTracker::~ObjectTracker() = default;

std::vector<Detection> ObjectTracker::usable(const std::vector<Detection>& found) const {
    std::vector<Detection> boxes;
    for (const Detection& one : found) {
        const cv::Rect2f& b = one.box;
        const bool finite = std::isfinite(b.x) && std::isfinite(b.y) && std::isfinite(b.width) &&
                            std::isfinite(b.height) && std::isfinite(b.area()) && std::isfinite(one.score);
        if (finite && b.width > 0 && b.height > 0 && one.score >= m_rules.low) boxes.push_back(one);
    }
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    if (static_cast<int>(boxes.size()) > m_rules.most) boxes.resize(static_cast<size_t>(m_rules.most));
    return boxes;
}

/// Returns the place at which a moving object is expected after a short time without a box.
static cv::Rect2f expected(const cv::Rect2f& box, cv::Point2f step, double seconds) {
    const auto t = static_cast<float>(std::min(seconds, kLongestWay));
    return {box.x + step.x * t, box.y + step.y * t, box.width, box.height};
}

double ObjectTracker::likeness(const Track& track, const cv::Rect2f& box) {
    const double ahead = overlapOf(expected(track.object.box, track.step, track.unseen), box);
    const double before = overlapOf(track.object.box, box);
    if (track.object.boxes < kKnownWay || track.object.state == ObjectState::Stays)
        return std::max(ahead, before);
    // The overlap with the previous place counts half: the object may have stopped there, but the box there
    // may also be another object.
    return track.unseen <= kShortGap ? std::max(ahead, before / 2) : ahead;
}

void ObjectTracker::match(const std::vector<Detection>& boxes, bool high, std::vector<bool>& used) {
    std::vector<Link> links;
    for (size_t t = 0; t < m_tracks.size(); ++t) {
        const Track& track = m_tracks[t];
        if (track.object.seen || (m_paused && isOver(track))) continue;
        for (size_t b = 0; b < boxes.size(); ++b) {
            if (used[b] || boxes[b].label != track.object.label || (boxes[b].score >= m_rules.high) != high)
                continue;
            const double overlap = likeness(track, boxes[b].box);
            if (overlap >= (high ? m_rules.overlap : m_rules.lowOverlap))
                links.push_back({static_cast<int>(t), static_cast<int>(b), overlap});
        }
    }
    for (const Link& link : Groups(std::move(links)).chosen()) {
        take(m_tracks[link.track], boxes[link.box]);
        used[link.box] = true;
    }
}

void ObjectTracker::take(Track& track, const Detection& box) {
    TrackedObject& object = track.object;
    const cv::Point2f before = middleOf(object.box), now = middleOf(box.box);
    if (track.unseen > 0) {
        const cv::Point2f step = (now - before) * (1 / static_cast<float>(track.unseen));
        const auto kept = static_cast<float>(object.boxes < 2 ? 0 : std::exp2(-track.unseen / kStepHalves));
        track.step = track.step * kept + step * (1 - kept);
    }
    object.box = box.box;
    object.score = box.score;
    object.seen = true;
    object.last = m_now;
    ++object.boxes;
    track.unseen = track.unwatched = 0;
    track.counts = track.counts || object.boxes >= m_rules.confirm;
    const double size = std::sqrt(box.box.area());
    if (cv::norm(now - track.anchor) > size / 4) track.anchor = now, track.anchored = m_now;
    if (object.path.empty() || cv::norm(now - object.path.back()) > size / 20) object.path.push_back(now);
    if (object.path.size() > kLongestPath) {  // drops every second point of the older half
        std::vector<cv::Point2f> thin;
        for (size_t i = 0; i < object.path.size(); ++i)
            if (i % 2 == 0 || i > kLongestPath / 2) thin.push_back(object.path[i]);
        object.path = std::move(thin);
    }
    if (object.boxes > 1) countLines(track, before, now);
}

void ObjectTracker::begin(const Detection& box) {
    if (static_cast<int>(m_tracks.size()) >= 2 * m_rules.most) return;
    Track track;
    track.object.id = m_nextId++;
    track.object.label = box.label;
    track.object.since = m_now;
    track.object.box = box.box;
    track.anchor = middleOf(box.box);
    track.anchored = m_now;
    track.counts = m_first;
    m_tracks.push_back(std::move(track));
    take(m_tracks.back(), box);
}

void ObjectTracker::restore(const std::vector<TrackedObject>& objects, std::int64_t nextId) {
    m_nextId = std::max(m_nextId, nextId);
    for (const TrackedObject& object : objects) {
        if (static_cast<int>(m_tracks.size()) >= m_rules.most || object.state == ObjectState::Left) continue;
        Track track;
        track.object = object;
        track.lastBefore = object.last;
        track.counts = true;
        track.anchor = middleOf(object.box);
        track.anchored = object.last - std::clamp(object.still, 0., std::max(object.dwell(), 0.));
        m_now = m_clock = std::max(m_now, object.last);
        m_nextId = std::max(m_nextId, object.id + 1);
        m_first = false;
        m_tracks.push_back(std::move(track));
    }
    if (m_step == 0) m_step = 1;  // a gap of more than kPause seconds after the earlier run is a pause
    for (Track& track : m_tracks)
        track.unseen = m_now - track.object.last;
}

void ObjectTracker::relabel(const TrackRules& rules, const std::function<int(int label)>& labelOf) {
    m_rules = rules;
    std::vector<Track> kept;
    for (Track& track : m_tracks) {
        track.object.label = labelOf(track.object.label);
        if (track.object.label >= 0) kept.push_back(std::move(track));
    }
    m_tracks = std::move(kept);
    m_first = m_tracks.empty();
}

void ObjectTracker::moveClock(double seconds) {
    m_clock += seconds, m_now += seconds;
    for (Track& track : m_tracks) {
        track.object.since += seconds, track.object.last += seconds, track.anchored += seconds;
        if (track.lastBefore) *track.lastBefore += seconds;
        for (auto& [name, visit] : track.visits)
            visit.since += seconds, visit.last += seconds;
    }
}

void ObjectTracker::setRegions(std::vector<Region> regions) {
    m_regions = std::move(regions);
    for (Track& track : m_tracks)
        for (auto visit = track.visits.begin(); visit != track.visits.end();) {
            const bool known = visit->first.empty() ||
                               std::any_of(m_regions.begin(), m_regions.end(),
                                           [&](const auto& one) { return one.name == visit->first; });
            visit = known ? std::next(visit) : track.visits.erase(visit);
        }
}

void ObjectTracker::measureStays(Track& track, bool left) const {
    TrackedObject& object = track.object;
    object.stays.clear();
    object.left.clear();
    const bool first = track.visits.empty();
    const auto look = [&](const std::string& name, bool inside) {
        auto at = track.visits.find(name);
        if (at == track.visits.end()) {
            if (!inside || left) return;
            const bool restored = first && track.lastBefore;
            const double since = name.empty() ? object.since : restored ? track.anchored : m_now;
            at = track.visits.emplace(name, Track::Visit{since, m_now}).first;
            if (restored && *track.lastBefore > since) object.before[name] = *track.lastBefore - since;
        }
        auto& [since, last] = at->second;
        if (left)
            last = std::max(since, object.last);
        else if (inside || !object.seen)
            last = m_now;
        const bool gone = left || m_now - last > m_rules.regionSeconds;
        (gone ? object.left : object.stays)[name] = last - since;
        if (gone) track.visits.erase(at), object.before.erase(name);
    };
    const cv::Rect2f& box = object.box;
    const cv::Point2d foot((box.x + box.width / 2) / double(m_image.width),
                           (box.y + box.height) / double(m_image.height));
    for (const Region& region : m_regions)
        look(region.name, contains(region.outline, foot));
    look({}, true);
}

void ObjectTracker::setLines(std::vector<CountingLine> lines) {
    m_lines = std::move(lines);
    m_counts.assign(m_lines.size(), {});
}

void ObjectTracker::countLines(const Track& track, cv::Point2f from, cv::Point2f to) {
    if (m_image.empty()) return;
    const auto unit = [&](cv::Point2f p) {
        return cv::Point2d(p.x / double(m_image.width), p.y / double(m_image.height));
    };
    const cv::Point2d a = unit(from), b = unit(to);
    for (size_t i = 0; i < m_lines.size(); ++i) {
        const CountingLine& line = m_lines[i];
        const double before = sideOf(line.from, line.to, a), after = sideOf(line.from, line.to, b);
        const bool within = (sideOf(a, b, line.from) > 0) != (sideOf(a, b, line.to) > 0);
        if ((before > 0) == (after > 0) || !within) continue;
        ++(before > 0 ? m_counts[i].forth : m_counts[i].back)[track.object.label];
    }
}

/// Returns whether the tracker forgets the object, because it was unseen for too long. An object that was
/// visible only for a short time is forgotten sooner.
bool ObjectTracker::isOver(const Track& track) const {
    if (track.object.state == ObjectState::Stays) return track.unwatched > m_rules.keepStillSeconds;
    return track.unseen > std::min(m_rules.keepSeconds, kShortGap + track.object.dwell());
}

ObjectState ObjectTracker::stateOf(const Track& track) const {
    if (m_now - track.anchored >= m_rules.stillSeconds) return ObjectState::Stays;
    if (m_now - track.object.since < m_rules.arrivedSeconds) return ObjectState::Arrived;
    return ObjectState::Moves;
}

/// Scales the tracks, which are in pixels, because a camera may send images of another size after a restart.
void ObjectTracker::setImage(cv::Size image) {
    const cv::Size before = std::exchange(m_image, image);
    if (before == image || before.empty() || image.empty()) return;
    for (Track& track : m_tracks)
        track.scale(float(image.width) / float(before.width), float(image.height) / float(before.height));
}

std::vector<TrackedObject> ObjectTracker::update(const std::vector<Detection>& found, double seconds,
                                                 cv::Size image) {
    double passed = m_first ? 0 : seconds - m_clock;
    if (!(passed >= 0) || !std::isfinite(passed)) passed = 0;
    if (std::isfinite(seconds)) m_clock = seconds;
    if (m_first) m_now = m_clock;
    m_now += passed;
    m_paused = m_step > 0 && passed > kPause * m_step;
    if (passed > 0) m_step = passed;
    setImage(image);
    for (Track& track : m_tracks) {
        track.object.seen = false;
        track.unseen += passed;
        track.unwatched += std::min(passed, m_paused ? kLongestStep : m_rules.keepStillSeconds / kFewFrames);
    }
    const std::vector<Detection> boxes = usable(found);
    std::vector<bool> used(boxes.size());
    match(boxes, true, used);
    match(boxes, false, used);
    for (size_t i = 0; i < boxes.size(); ++i)
        if (!used[i] && boxes[i].score >= m_rules.high) begin(boxes[i]);
    std::vector<TrackedObject> objects;
    std::vector<Track> kept;
    for (Track& track : m_tracks) {
        const bool left = isOver(track);
        if (track.object.seen) {
            track.object.state = stateOf(track);
            track.object.still = track.object.state == ObjectState::Stays ? m_now - track.anchored : 0;
        }
        if (left || (!track.counts && !track.object.seen)) track.object.state = ObjectState::Left;
        if (track.counts && !m_image.empty()) measureStays(track, track.object.state == ObjectState::Left);
        if (track.counts) objects.push_back(track.object);
        if (track.object.state != ObjectState::Left) kept.push_back(std::move(track));
    }
    m_tracks = std::move(kept);
    m_first = false;
    return objects;
}

std::map<int, int> ObjectTracker::present() const {
    std::map<int, int> counts;
    for (const Track& track : m_tracks)
        if (track.counts) ++counts[track.object.label];
    return counts;
}

std::map<int, int> ObjectTracker::presentIn(const Polygon& region) const {
    std::map<int, int> counts;
    for (const Track& track : m_tracks) {
        const cv::Rect2f& box = track.object.box;
        if (!track.counts || m_image.empty()) continue;
        if (contains(region, {(box.x + box.width / 2) / double(m_image.width),
                              (box.y + box.height) / double(m_image.height)}))
            ++counts[track.object.label];
    }
    return counts;
}

}  // namespace mpm::pipeline
