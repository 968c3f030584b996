// Boxes of single frames as objects that keep their identity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/watch/alert.hpp"

namespace mpm::pipeline {

/// Arrived: in its first second. Moves, Stays: by the way of its middle. Left: not seen for too long; such an
/// object is given once.
enum class ObjectState { Arrived, Moves, Stays, Left };

const char* stateName(ObjectState state);

struct TrackRules {
    float high = .5F;        ///< a box of at least this score may begin an object
    float low = .1F;         ///< a box of at least this score may continue one
    double overlap = .25;    ///< of a box with the object's last one (intersection over union)
    double lowOverlap = .5;  ///< the same for boxes below `high`
    int confirm = 2;         ///< frames with a box before an object counts, if it is not there from the start
    double arrivedSeconds = 1;  ///< how long an object counts as arrived
    double stillSeconds = 2;    ///< without a way of a fourth of its size, an object stays
    double keepSeconds = 6;     ///< an object that moved is kept so long without a box, a new one for less
    double keepStillSeconds = 120;  ///< one that stays, in time that was watched: a pause does not count
    double regionSeconds = 1;       ///< outside of a region for longer, an object has left it
    int most = 1000;                ///< boxes of a frame that are used, the best, and objects at a time
};

/// One object at one frame.
struct TrackedObject : ObjectPresence {
    cv::Rect2f box;   ///< the last one
    float score = 0;  ///< of that box
    ObjectState state = ObjectState::Arrived;
    bool seen = true;               ///< false: it has no box in this frame
    double since = 0;               ///< seconds of the source's clock at which it was first seen
    double last = 0;                ///< seconds at which it was last seen
    double still = 0;               ///< seconds for which it has not moved, if it stays
    std::int64_t boxes = 0;         ///< frames with a box
    std::vector<cv::Point2f> path;  ///< middles of its boxes; thinned when it grows long
    double dwell() const { return last - since; }
};

/// Counts crossings of a line from its left to its right side, as seen from `from` to `to`, and back.
struct CountingLine {
    std::string name;
    cv::Point2d from, to;  ///< 0..1 across and down
};

struct LineCounts {
    std::map<int, std::int64_t> forth, back;  ///< by class
};

class ObjectTracker {
public:
    explicit ObjectTracker(const TrackRules& rules = {});
    ~ObjectTracker();

    /// @param found in any order; boxes that are not finite or have no area are left out
    /// @param seconds of the source's clock; a value that is no number or before the last one stands for no
    ///     time passed
    /// @return all objects: those with a box, those that are kept, and once those that left; by identity
    std::vector<TrackedObject> update(const std::vector<Detection>& found, double seconds, cv::Size image);

    /// Objects of an earlier run, before the first frame. nextId: of the next new object, at least. Their
    /// earlier regions are unknown: an object that has not moved counts as in its present regions since then.
    void restore(const std::vector<TrackedObject>& objects, std::int64_t nextId);
    /// Sets other rules and ids of classes. A negative id: the class is no longer followed.
    void relabel(const TrackRules& rules, const std::function<int(int label)>& labelOf);
    std::int64_t nextId() const { return m_nextId; }

    /// The source's clock was set: objects were there as long as before.
    void moveClock(double seconds);

    /// Whose stays are measured. An object is where the middle of its lower edge is.
    void setRegions(std::vector<Region> regions);
    void setLines(std::vector<CountingLine> lines);
    const std::vector<CountingLine>& lines() const { return m_lines; }
    const std::vector<LineCounts>& lineCounts() const { return m_counts; }

    /// Objects in the last frame by class.
    std::map<int, int> present() const;
    /// The same inside of a region, by the middle of the lower edge: where an object stands.
    std::map<int, int> presentIn(const Polygon& region) const;

private:
    struct Track;

    std::vector<Detection> usable(const std::vector<Detection>& found) const;
    /// Overlap of a box with the place of an object.
    static double likeness(const Track& track, const cv::Rect2f& box);
    void match(const std::vector<Detection>& boxes, bool high, std::vector<bool>& used);
    void take(Track& track, const Detection& box);
    void begin(const Detection& box);
    void measureStays(Track& track, bool left) const;
    void countLines(const Track& track, cv::Point2f from, cv::Point2f to);
    bool isOver(const Track& track) const;
    ObjectState stateOf(const Track& track) const;

    TrackRules m_rules;
    std::vector<Track> m_tracks;
    std::vector<Region> m_regions;
    std::vector<CountingLine> m_lines;
    std::vector<LineCounts> m_counts;
    cv::Size m_image;
    double m_now = 0, m_clock = 0;  ///< the second may jump back
    double m_step = 0;              ///< seconds between the last two frames
    bool m_first = true, m_paused = false;
    std::int64_t m_nextId = 1;
};

/// Connected regions of the given classes as boxes, largest first: objects of a model that segments. labels:
/// CV_8U or CV_16U ids. scores: of each pixel; a region has their mean, or 1 if there are none. smallest:
/// pixels of a region; 0: a two-thousandth of the image, and no side of its box below a 32nd of the image's
/// shorter side, since what is narrower than a token is mostly noise.
std::vector<Detection> regionObjects(const cv::Mat& labels, const std::vector<int>& classes, int smallest = 0,
                                     const cv::Mat& scores = {});

/// Ids of classes whose names are things rather than areas in the data sets that segmentation models are
/// trained on.
std::vector<int> thingsAmong(const std::vector<std::string>& names);

}  // namespace mpm::pipeline
