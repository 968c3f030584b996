// From counts to figures: one row a setting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/eval/eval_counts.hpp"

namespace mpm::cli {

struct EvalRow {
    std::string method, text, device, precision;  ///< "tome", "tome:r=13"
    int batch = 1;
    std::optional<std::vector<double>> night;
    std::vector<int> schedule;
    pipeline::SplitConfusion classes;
    pipeline::Confusion whole;
    pipeline::ObjectCounts objects;
    std::vector<pipeline::DistanceCounts> joins;
    std::vector<double> tokens;  ///< mean entering each block, over windows
    std::vector<double> operations, entering, kept, pictureMiou, pictureAacc;  ///< one entry a picture
    std::vector<double> rates;                                 ///< pictures a second, one entry a group
    double ms = 0, encoderMs = 0, mergeMs = 0, restoreMs = 0;  ///< means a picture
    double windowsPerSecond = 0;

    int images() const { return static_cast<int>(operations.size()); }
    double gflops() const;
    double gflopsDeviation() const;
    double tokensKept() const;  ///< after the last merge, mean over pictures
    double imagesPerSecond() const;
    double standardError() const;  ///< of imagesPerSecond, over groups
};

struct EvalSummary {
    explicit EvalSummary(const Counts& counts);

    /// All tokens under the same light, precision and batch; null where that was not measured.
    const EvalRow* baseOf(const EvalRow& row) const;
    double loss(const EvalRow& row) const;  ///< of mIoU against the base; NaN without one

    Json head;
    std::vector<EvalRow> rows;
    std::vector<std::string> classNames, names, leftOut;
    bool severalPrecisions = false, severalBatches = false, severalLights = false;
};

/// One method by day and under one night, over the same pictures.
struct Pair {
    const EvalRow* day;
    const EvalRow* night;
    double change =
        0;  ///< of the tokens merged away, night against day, mean over pictures; NaN where none merge
    double standardError = 0;
};
std::vector<Pair> pairsOf(const EvalSummary& summary);

}  // namespace mpm::cli
