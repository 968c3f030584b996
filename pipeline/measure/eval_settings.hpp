// Settings of an evaluation: methods, precisions and batches, by day or in simulated nights, on a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/method.hpp"
#include "street/street.hpp"

namespace mpm::pipeline {

/// Part number `index` (from 1) of the `count` parts of an evaluation.
struct Shard {
    int index = 1, count = 1;

    /// Returns how many of `all` groups or images belong to the shard.
    size_t of(size_t all) const { return (all + size_t(count) - size_t(index)) / size_t(count); }
};

struct EvalRequest {
    std::string dataset, root, split = "val";
    std::vector<Method> methods;  ///< empty: the model's method; "singles" and "pairs" are sweeps
    std::vector<Precision> precisions{Precision::F32};
    std::vector<int> batches{1};
    std::vector<street::NightParameters> nights;
    bool paired = false;  ///< whether to also measure by day, if there are nights
    int limit = 0;        ///< largest number of images; 0: all
    std::optional<Shard> shard;
    std::string countsFile;  ///< written during the run, and continued if it exists; empty: none
};

/// A combination of options that is measured. Each setting gives a row of the result.
struct Setting {
    Method method;
    Precision precision = Precision::F32;
    int batch = 1;
    std::optional<street::NightParameters> night;
};

/// Returns whether the method is a sweep over schedules of `mpm`: "singles" has a schedule for each block,
/// "pairs" for each combination of two blocks.
bool isSweep(const Method& method);

/// Replaces each sweep with the methods of the sweep. If `methods` is empty, returns the model's method.
/// `blocks`: number of the encoder's blocks.
std::vector<Method> expanded(const std::vector<Method>& methods, int blocks);

/// Returns all combinations of methods, precisions, batches, day and nights. `blocks`: number of the
/// encoder's blocks.
std::vector<Setting> settingsOf(const EvalRequest& request, int blocks);

}  // namespace mpm::pipeline
