// Data that the workers and the window exchange. Shared objects are never changed after they are sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QImage>
#include <QMetaType>
#include <QString>

#include "pipeline/daynight/day_night.hpp"
#include "pipeline/draw/palette.hpp"
#include "pipeline/objects/follower.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/source/reader.hpp"
#include "pipeline/watch/region.hpp"
#include "street/street.hpp"

namespace mpm::gui {

using Steady = std::chrono::steady_clock;
using System = std::chrono::system_clock;

/// Ground truth of a frame: labels with the ids of their classes.
struct Truth {
    cv::Mat labels;  ///< CV_8U or CV_16U, of the frame's size; empty: none
    int classes = 0, ignored = 255;
};

/// One frame of a source, as it was captured.
struct LiveFrame {
    int generation = 0;  ///< counts the sources opened: frames of an earlier source are dropped
    int stream = 0;      ///< number of the source in the network: reuse remembers frames by it
    std::int64_t number = -1;
    int pass = 0;  ///< of a video that repeats, from 0
    System::time_point time;
    Steady::time_point captured;
    cv::Mat pixels;                        ///< CV_8UC3
    std::vector<pipeline::Polygon> masks;  ///< black in `pixels`
    Truth truth;                           ///< if the source is a folder in a data set
    QImage image;                          ///< the pixels, ready to be painted
    double luminance = 0, saturation = 0;
    pipeline::Phase phase = pipeline::Phase::Day;
    double captureMs = 0;
};

/// Kind and state of a source.
struct SourceReport {
    int generation = 0;
    QString name;
    pipeline::SourceKind kind = pipeline::SourceKind::Scene;
    pipeline::SourceStatus status;
    int phaseFlips = 0;

    /// Whether the image on the screen is current.
    bool current() const { return status.state == pipeline::SourceState::Live; }
};

/// The properties of a model that the window shows.
struct ModelFacts {
    QString name;  ///< for titles
    QString path;
    bool random = false;
    bool shipped = false;  ///< the demonstration model, trained on the built-in street
    bool classes = true;   ///< false: its output is features
    int blocks = 0, heads = 0, dim = 0;
    cv::Size input;
    std::vector<std::string> labels;     ///< names of the classes, as the user has them
    std::vector<std::string> ownLabels;  ///< names in the model file
    pipeline::Palette palette;           ///< one colour for each label
    std::vector<int> schedule;           ///< the model's own
};
using ModelFactsPtr = std::shared_ptr<const ModelFacts>;

/// How to process the next frame.
struct Request {
    std::vector<int> schedule{2, 5};
    bool ownSchedule = true;       ///< no schedule was chosen: the model's own is used
    bool reuse = false;            ///< compute only the tokens that changed; the schedule is not used then
    bool reuseBeside = false;      ///< the shipped model only: run each frame with reuse, too
    bool compare = false;          ///< run `compareWith` too, on the same frame
    std::vector<int> compareWith;  ///< a schedule, without reuse; empty: all tokens
    bool simulateNight = false;    ///< run the same frame as a camera would see it at night
    bool scores = false;           ///< ask for the probability of each label
    street::NightParameters night;
    std::chrono::milliseconds interval{0};         ///< least time between two analysed frames
    std::chrono::milliseconds compareInterval{0};  ///< least time between two comparisons
    std::vector<pipeline::Region> regions;         ///< each with its own statistics
    std::vector<std::string> objects;              ///< classes that are followed (FollowWish); none: no cost
    std::shared_ptr<const pipeline::KnownObjects> knownObjects;  ///< set by the engine
    bool keepsImages = true;  ///< false: an image is discarded as soon as it is measured
};

int tokensKept(const mpm::ImageReport& report);

/// The results of the network for a frame.
struct Analysis {
    LiveFrame frame;
    pipeline::Segmentation merged;
    std::vector<int> schedule;   ///< the schedule that ran
    std::vector<double> shares;  ///< by class
    std::vector<pipeline::RegionReading> regions;
    pipeline::FollowedObjectsPtr objects;  ///< null: none are followed
    cv::Size size;                         ///< of the frame, which may be discarded
    std::int64_t skipped = 0;              ///< frames not analysed since the previous analysis
    double queueMs = 0;                    ///< between capture and network
    bool repeat = false;                   ///< the frame was analysed before: not a new measurement
    std::shared_ptr<const pipeline::Segmentation> beside;  ///< the same frame with reuse, if requested
    ModelFactsPtr model;

    /// The report of `beside`, or of `merged` if there is no run beside it.
    const ReuseReport& reuse() const { return (beside ? *beside : merged).tokens.reuse; }

    int tokensIn() const { return static_cast<int>(merged.tokens.map.total()); }
    int tokensKept() const { return gui::tokensKept(merged.tokens); }
    double networkMs() const { return merged.totalMs(); }
};
using AnalysisPtr = std::shared_ptr<const Analysis>;

/// The conditions that a comparison of times and images holds for. Under other conditions it is stale.
struct Conditions {
    int stream = 0, generation = 0;  ///< of the source
    ModelFactsPtr model;
    std::vector<int> schedule;
    bool reuses = false;  ///< false while reuse is suspended: then tokens merge

    bool operator==(const Conditions& other) const {
        return stream == other.stream && generation == other.generation && model == other.model &&
               schedule == other.schedule && reuses == other.reuses;
    }
};
Conditions conditionsOf(const Analysis& analysis);

/// mIoU of both sides of a comparison, over the frames since the source, the model, reuse or one of the
/// schedules changed.
struct Scores {
    double whole = 0, merged = 0;
    int frames = 0;
};

/// The same frame with all its tokens, or with another schedule.
struct Comparison {
    AnalysisPtr analysis;
    std::vector<int> with;  ///< the other schedule; empty: all tokens
    pipeline::Segmentation whole;
    /// Share of equal pixels; for a detector, of equal objects; without classes, mean cosine of the features.
    double agreement = 0;
    double savedMs = 0;            ///< saved by merging on this frame; negative: lost
    std::optional<Scores> scores;  ///< if the source has labels
};
using ComparisonPtr = std::shared_ptr<const Comparison>;

/// The same frame with night simulated.
struct NightPair {
    AnalysisPtr analysis;
    cv::Mat pixels;
    pipeline::Segmentation night;
    street::NightParameters parameters;

    int tokensKept() const { return gui::tokensKept(night.tokens); }
    /// How many fewer tokens merge by night than by day, in percent of the day's number; 0 if nothing merges.
    double fewerMerged() const;
};
using NightPairPtr = std::shared_ptr<const NightPair>;

/// Values for the stage of a merge map, in addition to its index.
constexpr int kLastStage = -1, kUnmerged = -2;

/// Cluster of each image token after stage `stage`; after the last stage for kLastStage or if there is no
/// such stage. For kUnmerged each token is its own cluster.
cv::Mat mapAfter(const mpm::ImageReport& report, int stage);

/// A copy that Qt paints without another conversion. `pixels`: CV_8UC3.
QImage toImage(const cv::Mat& pixels);

}  // namespace mpm::gui

Q_DECLARE_METATYPE(mpm::gui::SourceReport)
Q_DECLARE_METATYPE(mpm::gui::ModelFactsPtr)
