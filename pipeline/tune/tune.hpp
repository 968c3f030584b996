// Chooses a method by measured time and agreement with all tokens: successive halving over candidates.
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

/// Exactly one of both.
struct TuneGoal {
    std::optional<double> keep;    ///< the fastest with at least this agreement
    std::optional<double> faster;  ///< the most agreement of those that are so many times as fast
};

/// A candidate on an image.
struct Trial {
    double ms = 0, agreement = 0;
    double kept = 1;          ///< share of the image tokens that the last merge leaves
    std::vector<int> tokens;  ///< of the image, entering each block
};

/// One entry an image.
struct TuneRow {
    Method method;
    std::vector<double> times;  ///< relative to all tokens on the same image, in turn
    std::vector<double> agreements, kept;
    std::vector<double> tokens;  ///< entering each block, summed over images

    size_t images() const { return times.size(); }
    double speed() const { return 1 / quantile(times, 0.5); }  ///< times as fast as all tokens
    double agreement() const { return mean(agreements); }
    double worst() const;  ///< mean of the worst tenth, at least one image
    std::vector<double> meanTokens() const;
    bool merged() const;  ///< any image
};

struct TuneResult {
    std::vector<TuneRow> rows;      ///< of all candidates that were measured
    std::vector<size_t> front;      ///< those of the last stage that no other beats in both, fastest first
    std::optional<size_t> best;     ///< reaches the goal, and is faster than all tokens
    std::optional<size_t> nearest;  ///< without a best one: what comes closest
    double fullMs = 0;              ///< all tokens, the median
    bool complete = false;          ///< neither stopped nor out of time
    bool stopped = false;           ///< by the user

    /// The median, at the speed that the machine had for fullMs.
    double ms(const TuneRow& row) const { return fullMs / row.speed(); }
};

/// What is measured; tests put others in.
struct TuneWork {
    std::function<double(size_t image)> full;  ///< ms with all tokens
    /// Nothing if the model cannot run the method.
    std::function<std::optional<Trial>(const Method& method, size_t image)> trial;
    std::function<double()> seconds;  ///< since the beginning
};

/// Ends at about `limit` seconds. `images`: how many there are.
TuneResult tune(const std::vector<Method>& candidates, size_t images, const TuneWork& work,
                const TuneGoal& goal, double limit, const Watcher& watcher = {});

}  // namespace mpm::pipeline
