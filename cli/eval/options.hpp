// Options of `mpm eval`.
#pragma once

#include <optional>
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
    std::string sourceFrom;   ///< a file that names the root
    std::string annotations;  ///< in COCO's format
    std::string results;      ///< a file of results, scored without a model
    std::string saveDetections;
    std::string iou = "bbox";
    std::string truth;          ///< true tracks: a file or a folder
    std::optional<int> frames;  ///< length of a sequence; absent: the last frame of both files
};

/// Reads i/n. Throws Error(kWrongUse).
pipeline::Shard parseShard(const std::string& option, const std::string& text);

/// Whether files of results are scored, without a model.
bool scoresFiles(const EvalOptions& options);

/// Checks everything that can be checked without a file. Throws Error(kWrongUse).
void checkUsage(const EvalOptions& options);

/// If there are more shards than groups of images, the last ones have none. @return the exit status.
int reportEmptyShard();

/// Opens the network with this precision. Without --precision the environment decides, and `precision` is the
/// same. Throws Error.
pipeline::Network openFor(const EvalOptions& options, Precision precision);

/// Measures, or joins the counts of shards. @return the exit status. @throws Error, pipeline::MeasureError
int evalDetector(const EvalOptions& options);

/// @return the exit status. @throws Error
int scoreFiles(const EvalOptions& options);

}  // namespace mpm::cli
