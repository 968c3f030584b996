// A tracker that links boxes of single frames to objects with an identity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/watch/alert.hpp"

namespace mpm::pipeline {

/// Arrived: first seen less than a second ago. Moves, Stays: whether the box's middle moves. Left: not seen
/// for so long that the tracker returns the object for the last time.
enum class ObjectState { Arrived, Moves, Stays, Left };

const char* stateName(ObjectState state);

struct TrackRules {
    float high = .5F;           ///< a box of at least this score may begin an object
    float low = .1F;            ///< a box of at least this score may continue an object
    double overlap = .25;       ///< least overlap of a box with the object's place (intersection over union)
    double lowOverlap = .5;     ///< like `overlap`, for boxes with scores below `high`
    int confirm = 2;            ///< boxes that an object needs to be reported; in the first frame, 1
    double arrivedSeconds = 1;  ///< how long an object is Arrived
    double stillSeconds = 2;    ///< an object Stays if it moves less than a fourth of its size in this time
    double keepSeconds = 6;     ///< how long a moving object is kept without a box; less if it is new
    double keepStillSeconds = 120;  ///< like keepSeconds, for an object that Stays; pauses do not count
    double regionSeconds = 1;       ///< an object that is outside a region for so long has left it
    int most = 1000;                ///< limit of boxes in a frame (keeps the best); objects: twice this limit
};

struct TrackedObject : ObjectPresence {
    cv::Rect2f box;   ///< the latest box
    float score = 0;  ///< score of `box`
    ObjectState state = ObjectState::Arrived;
    bool seen = true;               ///< false if the object has no box in this frame
    double since = 0;               ///< when first seen, in seconds of the source's clock
    double last = 0;                ///< when last seen
    double still = 0;               ///< seconds for which an object that stays has not moved
    std::int64_t boxes = 0;         ///< frames with a box
    std::vector<cv::Point2f> path;  ///< middles of the boxes; if there are many, without some old middles
    double dwell() const { return last - since; }
};

/// A line whose crossings are counted. Forth: from left to right for a viewer who looks from `from` to `to`.
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

    /// Links the boxes of a frame to objects. `found`: in any order; boxes that are not finite or have no
    /// area are ignored. `seconds`: time of the source's clock; if the value is not a number or is less than
    /// the previous value, no time passes. `image`: size of the image; if the size changes, the image must
    /// still show the same scene. Returns all objects by id, with or without a box; an object that left is
    /// returned once.
    std::vector<TrackedObject> update(const std::vector<Detection>& found, double seconds, cv::Size image);

    /// Sets the objects of an earlier run; must be called before the first frame. `nextId`: least id of the
    /// next new object. It is unknown when the objects entered their regions, so each stay in a region begins
    /// when the object last moved.
    void restore(const std::vector<TrackedObject>& objects, std::int64_t nextId);
    /// Sets the rules. Changes each object's class to labelOf(class), and drops the object if the new class
    /// is negative.
    void relabel(const TrackRules& rules, const std::function<int(int label)>& labelOf);
    std::int64_t nextId() const { return m_nextId; }

    /// Adds `seconds` to all times, so that stays keep their length. Must be called if somebody sets the
    /// source's clock forward by `seconds`, or back if `seconds` is negative.
    void moveClock(double seconds);

    /// Sets the regions in which stays are measured. The middle of a box's lower edge must be in the region.
    void setRegions(std::vector<Region> regions);
    void setLines(std::vector<CountingLine> lines);
    const std::vector<CountingLine>& lines() const { return m_lines; }
    const std::vector<LineCounts>& lineCounts() const { return m_counts; }

    /// Returns the number of objects of each class in the latest frame.
    std::map<int, int> present() const;
    /// Counts the objects in a region, by the rule of setRegions().
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

/// Finds the objects of a segmentation model: the connected regions of these classes, largest first.
/// `labels`: CV_8U or CV_16U ids. `scores`: score of each pixel; a region gets the mean, or 1 if `scores` is
/// empty. `smallest`: least number of pixels of a region; 0: 1/2000 of the image. With 0, each side of the
/// region's box must also be at least 1/32 of the image's shorter side, because narrower regions are mostly
/// noise.
std::vector<Detection> regionObjects(const cv::Mat& labels, const std::vector<int>& classes, int smallest = 0,
                                     const cv::Mat& scores = {});

/// Returns the ids of classes whose names are those of things (cars, people), not of areas (sky, road), in
/// the usual data sets.
std::vector<int> thingsAmong(const std::vector<std::string>& names);

}  // namespace mpm::pipeline
