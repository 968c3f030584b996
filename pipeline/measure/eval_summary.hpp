// The figures of an evaluation: a row for each setting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "pipeline/measure/eval_counts.hpp"

namespace mpm::pipeline {

struct EvalRow {
    EvalRow(int classCount, int ignored) : classes(classCount, ignored), whole(classCount, ignored) {}

    std::string method, text, device, precision;  ///< method, text: such as "tome", "tome:r=13"
    int batch = 1;
    std::optional<std::vector<double>> night;
    std::vector<int> schedule;
    SplitConfusion classes;
    Confusion whole;
    ObjectCounts objects;
    std::vector<DistanceCounts> joins;
    std::vector<double> tokens;  ///< mean number of tokens that each block computes, over windows
    std::vector<double> operations, entering, kept, imageMiou, imageAacc;  ///< per image
    std::vector<double> groupImages, groupMs;                              ///< per group
    double ms = 0, encoderMs = 0, mergeMs = 0, restoreMs = 0;              ///< per image, medians over groups
    double meanMs = 0;  ///< per image, the mean instead of the median
    double windowsPerSecond = 0;
    ReuseCounts reuse;
    std::vector<double> agreement;  ///< ImageCounts::agreement by image; empty if not measured

    int images() const { return static_cast<int>(operations.size()); }
    double gflops() const { return mean(operations) / 1e9; }
    double gflopsDeviation() const { return deviation(operations) / 1e9; }
    double tokensKept() const { return mean(kept); }  ///< after the last merge, mean over images
    Rate imagesPerSecond() const { return rateOf(groupImages, groupMs); }  ///< with the error over groups
};

struct EvalSummary {
    explicit EvalSummary(const EvalCounts& counts);

    /// Returns the row of "none" with the same night, precision and batch; null if there is no such row.
    const EvalRow* baseOf(const EvalRow& row) const;
    double loss(const EvalRow& row) const;  ///< of mIoU, compared with baseOf(row); NaN if there is no base

    EvalHead head;
    std::vector<EvalRow> rows;
    std::vector<std::string> classNames, names, leftOut;
    bool severalPrecisions = false, severalBatches = false, severalLights = false;
};

/// The rows of a method by day and by night, on the same images.
struct DayNightPair {
    const EvalRow* day;
    const EvalRow* night;
    double change = 0;  ///< mean relative change of the number of merged tokens; NaN if none merge by day
    double standardError = 0;
};
std::vector<DayNightPair> pairsOf(const EvalSummary& summary);

/// The result of tuning a method (mpm, tome, ...). Of the settings whose loss of mIoU is within the budget,
/// tuning chooses the setting with the fewest operations.
struct Tuned {
    const EvalRow* day;    ///< the chosen setting
    const EvalRow* night;  ///< the same setting by night
    const EvalRow* best;   ///< the setting that tuning by night chooses
};

constexpr double kTuningBudget = 0.005;  ///< accepted loss of mIoU, 0 to 1

/// Tunes each method that was measured by day and by night; if there are several nights, uses the first. If
/// all settings of a method exceed the budget, chooses the setting that loses least. Returns nothing if no
/// method has several settings.
std::vector<Tuned> tunedByDay(const EvalSummary& summary, double budget = kTuningBudget);

struct PublishedFigures {
    std::string dataset;
    int width = 0, patch = 0;  ///< of the model
    std::string method;        ///< "none", "algm", "tome", "mpm:2+5"
    double miou = 0;           ///< percent
    double gflops = 0;
    double fps = 0;  ///< on an H100, f32
};

const std::vector<PublishedFigures>& publishedFigures();

/// Returns the published figures for the data set, model size and method of a measured row, if any.
std::optional<PublishedFigures> publishedFor(const EvalHead& head, const EvalRow& row);

}  // namespace mpm::pipeline
