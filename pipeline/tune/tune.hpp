// Chooses a method by speed and agreement, both compared with all tokens. Works in rounds; each round keeps
// about half of the candidates.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/statistics.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/measure/watcher.hpp"

namespace mpm::pipeline {

constexpr int kFewestTuneImages = 8;
constexpr int kTuneImages = 16;
constexpr double kUsualKeep = 0.99;

/// Exactly one of the two members must be set.
struct TuneGoal {
    std::optional<double> keep;    ///< find the fastest method with at least this agreement
    std::optional<double> faster;  ///< find the best agreement with at least this speed (1: all tokens)
};

/// The result of a candidate on an image.
struct Trial {
    double ms = 0, agreement = 0;
    double kept = 1;          ///< share of the image tokens that remains after the last merge
    std::vector<int> tokens;  ///< tokens of the image that each block computes
};

/// The results of a candidate, with an entry for each image.
struct TuneRow {
    Method method;
    std::vector<double> times;  ///< relative to the time with all tokens on the same image
    std::vector<double> agreements, kept;
    std::vector<double> tokens;  ///< tokens that each block computes, summed over images

    size_t images() const { return times.size(); }
    double speed() const { return 1 / quantile(times, 0.5); }  ///< 1 is the speed with all tokens
    double agreement() const { return mean(agreements); }
    double worst() const;  ///< mean agreement of the worst tenth of the images, at least one image
    std::vector<double> meanTokens() const;
    bool merged() const;  ///< whether any image has merged tokens
};

struct TuneResult {
    std::vector<TuneRow> rows;      ///< all candidates; images() is 0 for candidates without trials
    std::vector<size_t> front;      ///< rows of the last round that no other row beats, fastest first
    std::optional<size_t> best;     ///< the row that reaches the goal; always faster than all tokens
    std::optional<size_t> nearest;  ///< if there is no best row: the row closest to the goal
    double fullMs = 0;              ///< median time with all tokens
    bool complete = false;          ///< false if stopped early
    bool stopped = false;           ///< whether the user stopped the tuning

    /// Returns the time of a row in ms, computed from fullMs and the row's speed.
    double ms(const TuneRow& row) const { return fullMs / row.speed(); }
};

/// The functions that measure; tests replace them.
struct TuneWork {
    std::function<double(size_t image)> full;  ///< ms with all tokens
    /// Returns nothing if the model cannot run the method.
    std::function<std::optional<Trial>(const Method& method, size_t image)> trial;
    std::function<double()> seconds;  ///< time since the beginning
};

/// Measures the candidates and chooses a method. Ends after about `limit` seconds. `images`: number of
/// images.
TuneResult tune(const std::vector<Method>& candidates, size_t images, const TuneWork& work,
                const TuneGoal& goal, double limit, const Watcher& watcher = {});

}  // namespace mpm::pipeline
