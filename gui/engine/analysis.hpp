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

/// Labels of a frame that somebody made, with the ids of their classes.
struct Truth {
    cv::Mat labels;  ///< CV_8U or CV_16U, of the frame's size; empty: none
    int classes = 0, ignored = 255;
};

/// One frame of a source, as it was captured.
struct LiveFrame {
    int generation = 0;  ///< counts the sources opened: frames of an older one are dropped
    int stream = 0;      ///< one for each source that shares the network: reuse remembers its frames
    std::int64_t number = -1;
    int pass = 0;  ///< of a video that repeats: 0 is the first
    System::time_point time;
    Steady::time_point captured;
    cv::Mat pixels;                        ///< CV_8UC3
    std::vector<pipeline::Polygon> masks;  ///< blackened in it
    Truth truth;                           ///< of a folder in a data set
    QImage image;                          ///< the same, ready to be painted
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
    std::vector<std::string> ownLabels;  ///< the model's
    pipeline::Palette palette;           ///< one colour for each label
    std::vector<int> schedule;           ///< the model's own
};
using ModelFactsPtr = std::shared_ptr<const ModelFacts>;

/// How to process the next frame.
struct Request {
    std::vector<int> schedule{2, 5};
    bool ownSchedule = true;       ///< nobody chose a schedule: the model's is used
    bool reuse = false;            ///< compute only the tokens that changed; the schedule is not used then
    bool reuseBeside = false;      ///< the shipped model only: run each frame with reuse, too
    bool compare = false;          ///< run `compareWith` too, on the same frame
    std::vector<int> compareWith;  ///< a schedule, not with reuse; empty: all tokens
    bool simulateNight = false;    ///< run the same frame as a camera would see it at night
    bool scores = false;           ///< ask for the probability of each label
    street::NightParameters night;
    std::chrono::milliseconds interval{0};         ///< least time between two analysed frames
    std::chrono::milliseconds compareInterval{0};  ///< least time between two comparisons
    std::vector<pipeline::Region> regions;         ///< with statistics of their own
    std::vector<std::string> objects;              ///< classes that are followed (FollowWish); none: no cost
    std::shared_ptr<const pipeline::KnownObjects> knownObjects;  ///< set by the engine
    bool keepsImages = true;  ///< false: an image is discarded as soon as it is measured
};

int tokensKept(const mpm::ImageReport& report);

/// One frame through the network.
struct Analysis {
    LiveFrame frame;
    pipeline::Segmentation merged;
    std::vector<int> schedule;   ///< that ran
    std::vector<double> shares;  ///< by class
    std::vector<pipeline::RegionReading> regions;
    pipeline::FollowedObjectsPtr objects;  ///< null: none are followed
    cv::Size size;                         ///< of the frame, which may be discarded
    std::int64_t skipped = 0;              ///< frames not analysed since the analysis before
    double queueMs = 0;                    ///< between capture and network
    bool repeat = false;                   ///< of a frame analysed before: not a new measurement
    std::shared_ptr<const pipeline::Segmentation> beside;  ///< the same frame with reuse, if it was wanted
    ModelFactsPtr model;

    /// Of the frame, or of the run beside it.
    const ReuseReport& reuse() const { return (beside ? *beside : merged).tokens.reuse; }

    int tokensIn() const { return static_cast<int>(merged.tokens.map.total()); }
    int tokensKept() const { return gui::tokensKept(merged.tokens); }
    double networkMs() const { return merged.totalMs(); }
};
using AnalysisPtr = std::shared_ptr<const Analysis>;

/// What a comparison of times and images holds for. Under other conditions it is stale.
struct Conditions {
    int stream = 0, generation = 0;  ///< of the source
    ModelFactsPtr model;
    std::vector<int> schedule;
    bool reuses = false;  ///< not while reuse is suspended: then the frame merges

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
    /// Share of pixels with the same class; of a model without classes the mean cosine of the features.
    double agreement = 0;
    double savedMs = 0;            ///< saved by merging on this frame; negative: lost
    std::optional<Scores> scores;  ///< of a source with labels
};
using ComparisonPtr = std::shared_ptr<const Comparison>;

/// The same frame with night simulated.
struct NightPair {
    AnalysisPtr analysis;
    cv::Mat pixels;
    pipeline::Segmentation night;
    street::NightParameters parameters;

    int tokensKept() const { return gui::tokensKept(night.tokens); }
    /// Fewer tokens merged by night than by day, in percent of the day's; 0 if nothing merges.
    double fewerMerged() const;
};
using NightPairPtr = std::shared_ptr<const NightPair>;

/// Stages of a merge map besides their index.
constexpr int kLastStage = -1, kUnmerged = -2;

/// Cluster of each image token after stage `stage`, or kLastStage. The identity for kUnmerged, and where
/// there is no stage.
cv::Mat mapAfter(const mpm::ImageReport& report, int stage);

/// A copy that Qt paints without another conversion. pixels: CV_8UC3.
QImage toImage(const cv::Mat& pixels);

}  // namespace mpm::gui

Q_DECLARE_METATYPE(mpm::gui::SourceReport)
Q_DECLARE_METATYPE(mpm::gui::ModelFactsPtr)
