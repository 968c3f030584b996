// The training loop.
#pragma once

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "models/torch/data/batches.hpp"
#include "models/torch/data/boxes.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/optimiser.hpp"

namespace mpm::models {

struct CurveRow {
    int64_t step = 0, images = 0;
    double rate = 0, loss = 0;
    double miou = std::numeric_limits<double>::quiet_NaN();  ///< AP for a detector; NaN: not measured
    double seconds = 0;
};

class Curve {
public:
    /// Reads existing rows up to and including `lastStep`, the step of the checkpoint. Drops later rows,
    /// because the training repeats these steps.
    Curve(const std::string& csvPath, int64_t lastStep);

    void add(const CurveRow& row);
    const std::vector<CurveRow>& rows() const { return m_rows; }

    /// Draws two plots over the number of images seen: the loss, and the measure on the validation split.
    void draw(const std::string& pngPath, const std::string& measure) const;

private:
    std::vector<CurveRow> m_rows;
    RowFile m_file;
};

class TimePlan {
public:
    /// `seconds`: limit of the whole run; 0: none.
    explicit TimePlan(double seconds) : m_seconds(seconds) {}

    bool limited() const { return m_seconds > 0; }
    /// Sets the expected time of a validation, unless a validation has already been measured.
    void expectValidation(double seconds) {
        if (!m_measured) m_validation = seconds;
    }
    void validated(double seconds) {
        m_measured = true;
        m_validation = seconds;
    }
    /// Returns the share of the time for steps that has passed; may be above 1. The time for steps is the run
    /// without the last validation, but at least half of the run.
    double way(double passed) const { return passed / (m_seconds - std::min(m_validation, m_seconds / 2)); }
    /// Returns the seconds until the end of the run.
    double left(double passed) const { return std::max(0.0, m_seconds - passed); }

private:
    double m_seconds, m_validation = 0;
    bool m_measured = false;
};

/// Returns text such as "1:02:03"; 0:00:00 for a negative time.
inline std::string clockText(double seconds) {
    const long whole = seconds > 0 ? static_cast<long>(std::min(seconds, 1e9)) : 0;
    char text[32];
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

struct TrainOptions {
    SegmenterOptions model;
    BatchSource::Options data;
    std::string out;  ///< folder of checkpoint, curve and best weights
    static constexpr int64_t kUsualSteps = 3000;
    std::optional<int64_t> steps;  ///< limit; absent: kUsualSteps, or no limit if `minutes` is given
    int64_t warmUp = 200;
    double minutes = 0;       ///< limit of the run; if set, the rate depends on time, not on steps; 0: none
    std::string from;         ///< weights to start from; empty: none
    std::string teacher;      ///< a model of any variant whose scores are also learned; empty: none
    double teacherShare = 1;  ///< weight of the teacher's loss; the labels have weight 1
    std::vector<int64_t> neighbourBlocks;  ///< blocks with neighbourLoss() on their input tokens
    double neighbourShare = 0.3;           ///< weight of neighbourLoss(); the labels have weight 1
    std::string policy;                    ///< file of the policy for token sharing; empty: none
    int64_t shared = 0;  ///< superpatches with a shared token, at the model's size; also in validation
    OptimiserOptions optimiser;
    ReducerSettings reducer;   ///< reduces tokens while training; validation keeps all tokens
    double meanDecay = 0.998;  ///< of the running mean of the weights
    double classPower = 0.5;   ///< `power` of classWeights(); 0: all classes have the same weight
    double classLimit = 6.0;
    double overlap = 0.5;         ///< weight of the Lovasz loss; cross entropy has weight 1
    int parts = 2;                ///< batches in a step; their gradients are averaged
    int workers = 2;              ///< parts that run in parallel
    int64_t validateEvery = 500;  ///< steps
    int64_t checkpointEvery = 100;
    bool mixed = true;      ///< computes products in bf16 if the hardware supports bf16
    int64_t stopAfter = 0;  ///< step after which to stop without a checkpoint, for tests; 0: never
    bool quiet = false;

    int64_t mostSteps() const { return stepLimit(steps, minutes, kUsualSteps); }
};

struct TrainData {
    std::vector<pipeline::Sample> train, validation;
    int ignored = 255;
    std::vector<BoxImage> boxes{}, validationBoxes{};  ///< for a detector, instead of the samples
};

/// Trains, or continues from OUT/checkpoint.pt if it exists. Writes checkpoint.pt, best.pt (the running mean
/// with the highest validation mIoU or AP), curve.csv and curve.png to OUT. Returns the rows of the curve.
std::vector<CurveRow> train(const TrainOptions& options, const TrainData& data);

}  // namespace mpm::models
