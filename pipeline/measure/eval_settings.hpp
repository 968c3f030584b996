// Settings of an evaluation: methods, precisions, batches and lights on a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/method.hpp"
#include "street/street.hpp"

namespace mpm::pipeline {

/// Part `index` (from 1) of `count`.
struct Shard {
    int index = 1, count = 1;

    /// How many of `all` it has.
    size_t of(size_t all) const { return (all + size_t(count) - size_t(index)) / size_t(count); }
};

struct EvalRequest {
    std::string dataset, root, split = "val";
    std::vector<Method> methods;  ///< empty: the model's; "singles" and "pairs" are sweeps
    std::vector<Precision> precisions{Precision::F32};
    std::vector<int> batches{1};
    std::vector<street::NightParameters> nights;
    bool paired = false;  ///< by day too
    int limit = 0;        ///< images; 0: all
    std::optional<Shard> shard;
    std::string countsFile;  ///< written while measuring and continued; empty: none
};

/// A row of the result before it is measured.
struct Setting {
    Method method;
    Precision precision = Precision::F32;
    int batch = 1;
    std::optional<street::NightParameters> night;
};

/// "singles": mutual pairs before each block in turn; "pairs": before any two blocks.
bool isSweep(const Method& method);

/// With the schedules of each sweep in its place; the model's method if there is none. `blocks`: of the
/// encoder.
std::vector<Method> expanded(const std::vector<Method>& methods, int blocks);

/// Methods times precisions times batches times day and nights. `blocks`: of the encoder, for the sweeps.
std::vector<Setting> settingsOf(const EvalRequest& request, int blocks);

}  // namespace mpm::pipeline
