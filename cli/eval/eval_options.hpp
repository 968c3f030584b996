// What `mpm eval` is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/model.hpp"
#include "cli/common/night_option.hpp"

namespace mpm::cli {

/// Shard `index` (from 1) of `count`.
struct Shard {
    int index = 1, count = 1;
};

/// i/n. Throws Error(kWrongUse).
Shard parseShard(const std::string& option, const std::string& text);

struct EvalOptions {
    CommonOptions common;
    std::string model, dataset, root, split = "val";
    std::vector<Method> methods;  ///< empty: the model's own
    std::vector<Precision> precisions{Precision::F32};
    std::vector<int> batches{1};
    std::vector<street::NightParameters> nights;
    bool paired = false;  ///< by day too
    cv::Size size;
    int limit = 0;  ///< 0: all
    std::optional<Shard> shard;
    std::vector<std::string> join;
    std::string counts, json, csv, plots, saveLabels;
    std::string sourceFrom;  ///< a file that holds the root
};

/// What can be refused without looking at any file. Throws Error(kWrongUse).
void checkUsage(const EvalOptions& options);

/// One row of the table before it is measured.
struct Setting {
    Method method;
    Precision precision = Precision::F32;
    int batch = 1;
    NightOption night;
};

/// Methods times precisions times batches times day and nights. `blocks`: of the model, for the words
/// `singles` and `pairs`.
std::vector<Setting> settingsOf(const EvalOptions& options, int blocks);

}  // namespace mpm::cli
