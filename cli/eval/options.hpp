// Options of `mpm eval`.
#pragma once

#include <string>
#include <vector>

#include "cli/common/options.hpp"
#include "pipeline/measure/eval_settings.hpp"

namespace mpm::cli {

struct EvalOptions {
    CommonOptions common;
    std::string model;
    pipeline::EvalRequest request;
    cv::Size size;
    std::vector<std::string> join;
    std::string json, csv, plots, saveLabels;
    std::string sourceFrom;  ///< a file that holds the root
};

/// i/n. Throws Error(kWrongUse).
pipeline::Shard parseShard(const std::string& option, const std::string& text);

/// Checks all that needs no file. Throws Error(kWrongUse).
void checkUsage(const EvalOptions& options);

}  // namespace mpm::cli
