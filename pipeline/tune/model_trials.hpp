// Runs a model with and without merging on images, for tuning.
#pragma once

#include "base/stopwatch.hpp"
#include "pipeline/tune/agreement.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {

/// What was tuned, and how.
struct ModelTuning {
    TuneResult result;
    AgreementKind kind = AgreementKind::Rows;
    size_t images = 0;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
};

/// Runs all images with all tokens once, then the candidates. The network keeps the last method. Throws
/// MeasureError (Input) if there are too few images or no block can merge, (Failed) if the time is over
/// before anything was compared.
ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher = {});

}  // namespace mpm::pipeline
