// The result of tuning in words and as a plot.
#pragma once

#include <string>

#include "pipeline/chart/figure.hpp"
#include "pipeline/tune/model_trials.hpp"

namespace mpm::cli {

/// The candidates that no other beats in both.
std::string tuneTable(const pipeline::ModelTuning& tuning);

/// "gentle before blocks 1, 3, 5: 1.32 times as fast as all tokens, agreement 0.9912".
std::string choiceText(const pipeline::TuneRow& row);

/// Agreement over speed.
pipeline::Figure tuneFigure(const pipeline::ModelTuning& tuning, const std::string& model);

}  // namespace mpm::cli
