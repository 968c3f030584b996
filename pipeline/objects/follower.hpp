// The objects of a source over time, of any model: a detector's boxes, or regions of chosen classes.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include "pipeline/objects/tracker.hpp"
#include "pipeline/store/reading.hpp"

namespace mpm::pipeline {

/// Of one frame.
struct FollowedObjects {
    std::vector<TrackedObject> objects;        ///< by identity; once those that left
    std::map<int, int> counts;                 ///< by class id; 0 of a class that is followed and not there
    std::vector<std::map<int, int>> byRegion;  ///< the same, of the objects that stand in each
    std::int64_t nextId = 1;
};
using FollowedObjectsPtr = std::shared_ptr<const FollowedObjects>;

/// What to follow, and what the source is.
struct FollowWish {
    /// Names of classes; "*": every class of a detector, and those that are things (cars, people) of a model
    /// that segments. None: nothing is followed.
    std::vector<std::string> classes;
    std::vector<Region> regions;
    std::shared_ptr<const KnownObjects> known;  ///< of an earlier run; null: not known yet, so wait
};

class ObjectFollower {
public:
    struct Frame {
        int generation = 0;  ///< another one: another source, and its own objects
        double seconds = 0;  ///< of the clock that people see, which may be set
        double steady = 0;   ///< of a clock that nobody sets
        cv::Size size;
        const std::vector<Polygon>* masks = nullptr;  ///< boxes whose middle is covered are left out
    };

    /// The same time as before: the objects of before.
    /// `names`: of the model's classes; `shown`: as the user calls them.
    /// Null if nothing is followed.
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
    /// The id of a class that is followed, else -1.
    int idOf(const std::string& name) const;
    std::vector<Detection> boxesOf(const Segmentation& found, const Frame& frame) const;
    void count(FollowedObjects& all, const std::vector<Region>& regions);
    /// The objects of before in other regions; a new region has none until the next frame.
    FollowedObjectsPtr recounted(const std::vector<Region>& regions);

    std::optional<ObjectTracker> m_tracker;
    Setup m_setup;
    std::vector<int> m_classes;  // ids; empty: none
    std::set<int> m_seen;        // of classes of a detector, those that were there
    FollowedObjectsPtr m_last;
    std::vector<std::string> m_regions;  // names, of its counts
    int m_generation = -1;
    double m_seconds = 0, m_steady = 0;
    cv::Size m_image;
};

/// `now`, and what left in the frame before, which nobody has looked at.
FollowedObjectsPtr withDepartures(const FollowedObjects& missed, const FollowedObjectsPtr& now);

/// For the store. `names`: of the model's classes.
KnownObjects knownFrom(const FollowedObjects& objects, cv::Size image, const std::vector<std::string>& names);

}  // namespace mpm::pipeline
