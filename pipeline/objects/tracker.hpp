// Links boxes of single frames to objects that keep their identity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "pipeline/watch/alert.hpp"

namespace mpm::pipeline {

/// Arrived: in the object's first second. Moves, Stays: by the movement of the box's middle. Left: not seen
/// for too long; such an object is returned once.
enum class ObjectState { Arrived, Moves, Stays, Left };

const char* stateName(ObjectState state);

struct TrackRules {
    float high = .5F;        ///< a box of at least this score may begin an object
    float low = .1F;         ///< a box of at least this score may continue one
    double overlap = .25;    ///< least overlap of a box with the object's place (intersection over union)
    double lowOverlap = .5;  ///< the same for boxes below `high`
    int confirm = 2;         ///< frames with a box before an object counts, unless it is in the first frame
    double arrivedSeconds = 1;      ///< how long an object counts as arrived
    double stillSeconds = 2;        ///< an object that moves less than a fourth of its size for so long stays
    double keepSeconds = 6;         ///< how long a moving object is kept without a box; a new object for less
    double keepStillSeconds = 120;  ///< the same for an object that stays; pauses of the source do not count
    double regionSeconds = 1;       ///< an object outside a region for longer has left the region
    int most = 1000;                ///< limit of boxes used per frame, the best first; objects: twice as many
};

/// An object in a frame.
struct TrackedObject : ObjectPresence {
    cv::Rect2f box;   ///< the last box
    float score = 0;  ///< of that box
    ObjectState state = ObjectState::Arrived;
    bool seen = true;               ///< false if the object has no box in this frame
    double since = 0;               ///< when first seen, in seconds of the source's clock
    double last = 0;                ///< when last seen
    double still = 0;               ///< seconds for which an object that stays has not moved
    std::int64_t boxes = 0;         ///< frames with a box
    std::vector<cv::Point2f> path;  ///< middles of the boxes, thinned out if there are many
    double dwell() const { return last - since; }
};

/// A line whose crossings are counted: forth from left to right, seen from `from` to `to`, and back.
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
    /// @param seconds of the source's clock; no time passes if this is not a number or is before the last
    ///     value
    /// @param image size of the image; if it changes, the image shows the same scene, larger or smaller
    /// @return all objects by identity, with or without a box; an object that left is returned once
    std::vector<TrackedObject> update(const std::vector<Detection>& found, double seconds, cv::Size image);

    /// Sets objects of an earlier run, before the first frame. nextId: least id of the next new object.
    /// Earlier regions are unknown: an object counts as in its present regions since it last moved.
    void restore(const std::vector<TrackedObject>& objects, std::int64_t nextId);
    /// Sets other rules and ids of classes. A class with a negative id is no longer followed.
    void relabel(const TrackRules& rules, const std::function<int(int label)>& labelOf);
    std::int64_t nextId() const { return m_nextId; }

    /// Moves all times after the source's clock was set, so that stays keep their length.
    void moveClock(double seconds);

    /// Sets the regions in which stays are measured. An object is where the middle of its lower edge is.
    void setRegions(std::vector<Region> regions);
    void setLines(std::vector<CountingLine> lines);
    const std::vector<CountingLine>& lines() const { return m_lines; }
    const std::vector<LineCounts>& lineCounts() const { return m_counts; }

    /// Number of objects by class, after the last frame.
    std::map<int, int> present() const;
    /// The same inside a region; an object is where the middle of its lower edge is.
    std::map<int, int> presentIn(const Polygon& region) const;

private:
    struct Track;

    std::vector<Detection> usable(const std::vector<Detection>& found) const;
    /// Overlap of a box with the last or expected place of an object.
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
    double m_now = 0, m_clock = 0;  ///< m_clock may jump back
    double m_step = 0;              ///< seconds between the last two frames
    bool m_first = true, m_paused = false;
    std::int64_t m_nextId = 1;
};

/// Finds connected regions of the given classes, largest first: the objects of a model that segments. labels:
/// CV_8U or CV_16U ids. scores: of each pixel; a region gets their mean, or 1 without scores. smallest: least
/// pixels of a region; 0: 1/2000 of the image, and a box at least 1/32 of the image's shorter side wide and
/// high, because regions narrower than a token are mostly noise.
std::vector<Detection> regionObjects(const cv::Mat& labels, const std::vector<int>& classes, int smallest = 0,
                                     const cv::Mat& scores = {});

/// Returns the ids of classes that are things rather than areas in the data sets that segmentation models are
/// trained on.
std::vector<int> thingsAmong(const std::vector<std::string>& names);

}  // namespace mpm::pipeline
