// Follows the objects of a source over time: a detector's boxes, or a segmentation model's regions.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "pipeline/objects/tracker.hpp"
#include "pipeline/store/reading.hpp"

namespace mpm::pipeline {

struct FollowedObjects {
    std::vector<TrackedObject> objects;        ///< includes objects that left in this frame
    std::map<int, int> counts;                 ///< by class id; 0 for a followed class without objects
    std::vector<std::map<int, int>> byRegion;  ///< like `counts`, for each region
    std::int64_t nextId = 1;
};
using FollowedObjectsPtr = std::shared_ptr<const FollowedObjects>;

/// The classes and regions to follow, and the objects of an earlier run.
struct FollowWish {
    /// Names of classes; "*" means every class of a detector, or the things (cars, people) of a segmentation
    /// model. If the list is empty, nothing is followed.
    std::vector<std::string> classes;
    std::vector<Region> regions;
    std::shared_ptr<const KnownObjects> known;  ///< objects of an earlier run; null if not loaded yet
};

class ObjectFollower {
public:
    struct Frame {
        int generation = 0;  ///< number of the source; a new number ends all objects
        double seconds = 0;  ///< time on the wall clock, which may be set
        double steady = 0;   ///< time on a clock that is never set
        cv::Size size;
        const std::vector<Polygon>* masks = nullptr;  ///< boxes whose middle is in a mask are ignored
    };

    /// Returns the objects of a frame; null if nothing is followed. Returns the previous objects again if
    /// `frame.seconds` has not changed. `names`: the model's names of the classes; `shown`: the user's names.
    FollowedObjectsPtr update(const Segmentation& found, const Frame& frame, const FollowWish& wish,
                              const std::vector<std::string>& names, const std::vector<std::string>& shown);

private:
    struct Setup {
        std::vector<std::string> classes, names, shown;
        bool detector = false;
        bool operator==(const Setup& other) const {
            return classes == other.classes && names == other.names && shown == other.shown &&
                   detector == other.detector;
        }
    };
    void begin(const KnownObjects& known, cv::Size image);
    void continueWith(const Setup& setup);
    /// Returns the id of a class, or -1 if the class is not followed.
    int idOf(const std::string& name) const;
    std::vector<Detection> boxesOf(const Segmentation& found, const Frame& frame) const;
    void count(FollowedObjects& all, const std::vector<Region>& regions);
    /// Counts the latest objects again, because the regions have changed. The counts of a new region are 0.
    FollowedObjectsPtr recounted(const std::vector<Region>& regions);

    std::optional<ObjectTracker> m_tracker;
    Setup m_setup;
    std::vector<int> m_classes;  // ids of followed classes
    std::set<int> m_seen;        // classes that had an object so far
    FollowedObjectsPtr m_last;
    std::vector<std::string> m_regions;  // names of the regions in m_last
    int m_generation = -1;
    double m_seconds = 0, m_steady = 0;
};

/// Returns the objects of `now`, and adds the objects that left in `missed`, an earlier frame that the caller
/// did not process.
FollowedObjectsPtr withDepartures(const FollowedObjects& missed, const FollowedObjectsPtr& now);

/// Converts objects for the store. `names`: the model's names of the classes.
KnownObjects knownFrom(const FollowedObjects& objects, cv::Size image, const std::vector<std::string>& names);

}  // namespace mpm::pipeline
