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

/// Ground truth of a frame: the class id of each pixel.
struct Truth {
    cv::Mat labels;  ///< CV_8U or CV_16U, of the frame's size; empty if there are no labels
    int classes = 0, ignored = 255;
};

/// A frame of a source, as it was captured.
struct LiveFrame {
    int generation = 0;  ///< counts the sources opened; frames of an earlier source are dropped
    int stream = 0;      ///< number of the source in the network; reuse keeps values for each stream
    std::int64_t number = -1;
    int pass = 0;  ///< number of earlier passes through the video
    System::time_point time;
    Steady::time_point captured;
    cv::Mat pixels;                        ///< CV_8UC3
    std::vector<pipeline::Polygon> masks;  ///< areas that are black in `pixels`
    Truth truth;                           ///< only if the source is a folder in a data set
    QImage image;                          ///< the pixels, ready to be painted
    double luminance = 0, saturation = 0;
    pipeline::Phase phase = pipeline::Phase::Day;
    double captureMs = 0;
};

struct SourceReport {
    int generation = 0;
    QString name;
    pipeline::SourceKind kind = pipeline::SourceKind::Scene;
    pipeline::SourceStatus status;
    int phaseFlips = 0;

    /// Returns whether the image on the screen is current.
    bool current() const { return status.state == pipeline::SourceState::Live; }
};

/// The properties of a model that the window shows.
struct ModelFacts {
    QString name;
    QString path;
    bool random = false;
    bool shipped = false;   ///< the demonstration model, trained on the built-in street
    bool classes = true;    ///< false if the model outputs features or objects instead of labels
    bool features = false;  ///< whether the model outputs features
    int blocks = 0, heads = 0, dim = 0;
    cv::Size input;
    std::vector<std::string> labels;     ///< names of the classes; the user may have changed them
    std::vector<std::string> ownLabels;  ///< names in the model file
    pipeline::Palette palette;
    std::vector<int> schedule;
};
using ModelFactsPtr = std::shared_ptr<const ModelFacts>;

/// The settings for processing a frame.
struct Request {
    std::vector<int> schedule{2, 5};
    bool ownSchedule = true;       ///< use the model's schedule, because the user chose none
    bool reuse = false;            ///< compute only the tokens that changed, instead of merging
    bool reuseBeside = false;      ///< also run each frame with reuse (only with the shipped model)
    bool compare = false;          ///< also run each frame with the schedule `compareWith`
    std::vector<int> compareWith;  ///< a schedule, without reuse; empty: all tokens
    bool simulateNight = false;    ///< also run each frame with night simulated
    bool scores = false;           ///< compute the probability of each pixel's label
    street::NightParameters night;
    std::chrono::milliseconds interval{0};         ///< least time between two analysed frames
    std::chrono::milliseconds compareInterval{0};  ///< least time between two comparisons
    std::vector<pipeline::Region> regions;         ///< each is measured separately
    std::vector<std::string> objects;              ///< classes to follow, as in FollowWish; empty: none
    std::shared_ptr<const pipeline::KnownObjects> knownObjects;  ///< set by the engine
    bool keepsImages = true;  ///< false: an image is discarded as soon as it is measured
};

int tokensKept(const mpm::ImageReport& report);

/// The results of the network for a frame.
struct Analysis {
    LiveFrame frame;
    pipeline::Segmentation merged;
    std::vector<int> schedule;   ///< the schedule that ran; empty with reuse
    std::vector<double> shares;  ///< the share of each class
    std::vector<pipeline::RegionReading> regions;
    pipeline::FollowedObjectsPtr objects;  ///< null: no objects are followed
    cv::Size size;                         ///< of the frame; known even if the images are discarded
    std::int64_t skipped = 0;              ///< frames not analysed since the previous analysis
    double queueMs = 0;                    ///< from the capture to the start of the network
    bool repeat = false;                   ///< whether the frame was analysed before (no new measurement)
    std::shared_ptr<const pipeline::Segmentation> beside;  ///< this frame with reuse; null if not requested
    ModelFactsPtr model;

    /// Returns the report of `beside`, or of `merged` if `beside` is null.
    const ReuseReport& reuse() const { return (beside ? *beside : merged).tokens.reuse; }

    int tokensIn() const { return static_cast<int>(merged.tokens.map.total()); }
    int tokensKept() const { return gui::tokensKept(merged.tokens); }
    double networkMs() const { return merged.totalMs(); }
};
using AnalysisPtr = std::shared_ptr<const Analysis>;

/// The conditions of a comparison of times and images. If the newest analysis has other conditions, the
/// comparison is stale.
struct Conditions {
    int stream = 0, generation = 0;  ///< of the source
    ModelFactsPtr model;
    std::vector<int> schedule;
    bool reuses = false;  ///< false also while reuse is suspended, because tokens then merge

    bool operator==(const Conditions& other) const {
        return stream == other.stream && generation == other.generation && model == other.model &&
               schedule == other.schedule && reuses == other.reuses;
    }
};
Conditions conditionsOf(const Analysis& analysis);

/// The mIoU of `whole` and of `merged` in a comparison, over all frames since the last change of the source,
/// the model, reuse or a schedule.
struct Scores {
    double whole = 0, merged = 0;
    int frames = 0;
};

/// A frame that was run again, with all tokens or with another schedule.
struct Comparison {
    AnalysisPtr analysis;
    std::vector<int> with;  ///< the other schedule; empty: all tokens
    pipeline::Segmentation whole;
    /// The share of equal pixels or, for a detector, of equal objects. For a model without classes, the mean
    /// cosine of the features.
    double agreement = 0;
    double savedMs = 0;  ///< the time that merging saved on this frame; negative if merging took longer
    std::optional<Scores> scores;  ///< absent if the source has no labels
};
using ComparisonPtr = std::shared_ptr<const Comparison>;

/// A frame, and the same frame with night simulated.
struct NightPair {
    AnalysisPtr analysis;
    cv::Mat pixels;
    pipeline::Segmentation night;
    street::NightParameters parameters;

    int tokensKept() const { return gui::tokensKept(night.tokens); }
    /// Returns how many percent fewer tokens merge by night than by day; 0 if no tokens merge by day.
    double fewerMerged() const;
};
using NightPairPtr = std::shared_ptr<const NightPair>;

/// Special values of `stage` in mapAfter(): after the last stage, and before any merge.
constexpr int kLastStage = -1, kUnmerged = -2;

/// Returns the cluster of each image token after stage `stage`, or after the last stage if `stage` does not
/// exist. For kUnmerged, each token is a separate cluster.
cv::Mat mapAfter(const mpm::ImageReport& report, int stage);

/// Returns a copy in a format that Qt paints without a conversion. `pixels`: CV_8UC3.
QImage toImage(const cv::Mat& pixels);

}  // namespace mpm::gui

Q_DECLARE_METATYPE(mpm::gui::SourceReport)
Q_DECLARE_METATYPE(mpm::gui::ModelFactsPtr)
