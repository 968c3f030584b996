// Links boxes of single frames to objects that keep an id from frame to frame.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/watch/alert.hpp"

namespace mpm::pipeline {

/// Arrived: first seen a moment ago. Stays: the middle of the box hardly moves. Moves: the middle moves.
/// Left: not seen for so long that the tracker returns the object for the last time. See TrackRules.
enum class ObjectState { Arrived, Moves, Stays, Left };

const char* stateName(ObjectState state);

struct TrackRules {
    float high = .5F;           ///< a box of at least this score may begin an object
    float low = .1F;            ///< a box of at least this score may continue an object
    double overlap = .25;       ///< least overlap of a box with the object's place (intersection over union)
    double lowOverlap = .5;     ///< like `overlap`, for boxes with scores below `high`
    int confirm = 2;            ///< an object is reported after this many boxes; in the first frame, after 1
    double arrivedSeconds = 1;  ///< an object is Arrived for this time
    double stillSeconds = 2;    ///< an object Stays if it moves less than a quarter of its size in this time
    double keepSeconds = 6;     ///< how long a moving object is kept without a box; less if it is new
    double keepStillSeconds = 120;  ///< like keepSeconds, for an object that Stays; pauses do not count
    double regionSeconds = 1;       ///< after this time outside a region, an object has left the region
    int most = 1000;  ///< limit on boxes in a frame (the best are kept); for objects, twice as high
};

struct TrackedObject : ObjectPresence {
    cv::Rect2f box;   ///< the latest box
    float score = 0;  ///< score of `box`
    ObjectState state = ObjectState::Arrived;
    bool seen = true;               ///< false if the object has no box in this frame
    double since = 0;               ///< when the object was first seen, in seconds of the source's clock
    double last = 0;                ///< when the object was last seen
    double still = 0;               ///< seconds for which an object that Stays has not moved; else 0
    std::int64_t boxes = 0;         ///< frames with a box
    std::vector<cv::Point2f> path;  ///< middles of boxes that moved; a long path lacks some older middles
    double dwell() const { return last - since; }
};

/// A line whose crossings are counted. Forth: from left to right for a viewer who looks from `from` to `to`.
struct CountingLine {
    std::string name;
    cv::Point2d from, to;  ///< x and y are fractions of the image's width and height
};

struct LineCounts {
    std::map<int, std::int64_t> forth, back;  ///< number of crossings by class id
};

class ObjectTracker {
public:
    explicit ObjectTracker(const TrackRules& rules = {});
    ~ObjectTracker();

    /// Links the boxes of a frame to objects. `found`: in any order; boxes that are not finite or have no
    /// area are ignored. `seconds`: time on the source's clock; if the value is not a number or is less than
    /// the previous value, no time passes. `image`: size of the image; if the size changes, the image must
    /// still show the same scene. Returns all objects, with or without a box; objects that left, only once.
    std::vector<TrackedObject> update(const std::vector<Detection>& found, double seconds, cv::Size image);

    /// Sets the objects of an earlier run; must be called before the first frame. `nextId`: least id of the
    /// next new object. The time at which an object entered a region is unknown, so each stay in a region
    /// begins when the object last moved.
    void restore(const std::vector<TrackedObject>& objects, std::int64_t nextId);
    /// Sets the rules. Changes each object's class to labelOf(class), and drops the object if the new class
    /// is negative.
    void relabel(const TrackRules& rules, const std::function<int(int label)>& labelOf);
    std::int64_t nextId() const { return m_nextId; }

    /// Adds `seconds` to all times, so that the duration of each stay does not change. Must be called after
    /// the source's clock was set forward by `seconds`, or set back if `seconds` is negative.
    void moveClock(double seconds);

    /// Sets the regions in which stays are measured. An object is in the regions that
    /// contain the middle of the lower edge of its box.
    void setRegions(std::vector<Region> regions);
    void setLines(std::vector<CountingLine> lines);
    const std::vector<CountingLine>& lines() const { return m_lines; }
    const std::vector<LineCounts>& lineCounts() const { return m_counts; }

    /// Returns the number of objects of each class, with or without a box in the latest frame.
    std::map<int, int> present() const;
    /// Like present(), for the objects in a region (see setRegions()).
    std::map<int, int> presentIn(const Polygon& region) const;

private:
    struct Track;

    std::vector<Detection> usable(const std::vector<Detection>& found) const;
    /// Returns how well a box fits an object, from overlaps with the object's previous and expected places.
    static double likeness(const Track& track, const cv::Rect2f& box);
    void match(const std::vector<Detection>& boxes, bool high, std::vector<bool>& used);
    void take(Track& track, const Detection& box);
    void begin(const Detection& box);
    void measureStays(Track& track, bool left) const;
    void countLines(const Track& track, cv::Point2f from, cv::Point2f to);
    void setImage(cv::Size image);
    bool isOver(const Track& track) const;
    ObjectState stateOf(const Track& track) const;

    TrackRules m_rules;
    std::vector<Track> m_tracks;
    std::vector<Region> m_regions;
    std::vector<CountingLine> m_lines;
    std::vector<LineCounts> m_counts;
    cv::Size m_image;
    double m_now = 0, m_clock = 0;  ///< m_clock: the source's clock; m_now: the same, without jumps back
    double m_step = 0;              ///< seconds between the two latest frames
    bool m_first = true, m_paused = false;
    std::int64_t m_nextId = 1;
};

/// Finds the objects in a segmentation: the connected regions of `classes`, largest first.
/// `labels`: CV_8U or CV_16U ids. `scores`: score of each pixel; a region gets the mean, or 1 if `scores` is
/// empty. `smallest`: least number of pixels of a region. If `smallest` is 0, a region needs 1/2000 of the
/// image's pixels, and each side of its box must be at least 1/32 of the image's shorter side, because
/// narrower regions are mostly noise.
std::vector<Detection> regionObjects(const cv::Mat& labels, const std::vector<int>& classes, int smallest = 0,
                                     const cv::Mat& scores = {});

/// Returns the ids of classes that are things (cars, people), not areas (sky, road), in common data sets.
std::vector<int> thingsAmong(const std::vector<std::string>& names);

}  // namespace mpm::pipeline
