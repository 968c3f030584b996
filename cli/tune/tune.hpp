// The work of `mpm tune`, also for `mpm convert --tune`.
#pragma once

#include <string>
#include <vector>

#include "base/stopwatch.hpp"
#include "cli/common/options.hpp"
#include "pipeline/chart/figure.hpp"
#include "pipeline/tune/model_trials.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::cli {

struct TuneRequest {
    CommonOptions common;
    std::string model;
    std::vector<std::string> sources;
    std::string sourceFrom;
    cv::Size size;
    pipeline::TuneGoal goal;  ///< empty: an agreement of 0.99
    double minutes = 2;
    bool write = false;
    std::string json, plot;
};

/// Prints the result, and stores it if requested. Returns an exit status. Throws Error, for example if no
/// candidate reaches the goal.
int tuneAndReport(const TuneRequest& request);

/// Returns a table of the candidates that no other candidate beats in both speed and agreement.
std::string tuneTable(const pipeline::ModelTuning& tuning);

/// Returns text such as "gentle before blocks 1, 3, 5: 1.32 times as fast as all tokens, agreement 0.9912".
std::string choiceText(const pipeline::TuneRow& row);

/// Plots agreement against speed.
pipeline::Figure tuneFigure(const pipeline::ModelTuning& tuning, const std::string& model);

}  // namespace mpm::cli
