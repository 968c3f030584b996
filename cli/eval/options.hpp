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
    std::string sourceFrom;   ///< the file of --source-from, which names the root
    std::string annotations;  ///< a file in COCO's format
    std::string results;      ///< a file of results, scored without a model
    std::string saveDetections;
    std::string iou = "bbox";
    std::string truth;          ///< true tracks: a file or a folder
    std::optional<int> frames;  ///< length of a sequence; absent: the highest frame number in both files
};

/// Reads a shard, i/n. Throws Error(kWrongUse).
pipeline::Shard parseShard(const std::string& option, const std::string& text);

/// Returns whether the options ask for scores of result files, which need no model.
bool scoresFiles(const EvalOptions& options);

/// Checks the options as far as possible without reading a file. Throws Error(kWrongUse).
void checkUsage(const EvalOptions& options);

/// If `shard` has a value, prints which part of the data set the tables below show.
void printShard(const std::optional<pipeline::Shard>& shard);

/// Warns that the shard has no images, because there are more shards than groups of images. Returns the exit
/// status.
int reportEmptyShard();

/// Opens the network with this precision. Without --precision, the network uses MPM_PRECISION instead;
/// the caller must then pass usualPrecision(), so that reports name the precision in use. Throws Error.
pipeline::Network openFor(const EvalOptions& options, Precision precision);

/// Measures a detector, or joins the counts of shards. Returns the exit status. @throws Error,
/// pipeline::MeasureError
int evalDetector(const EvalOptions& options);

/// Scores files of results. Returns the exit status. @throws Error
int scoreFiles(const EvalOptions& options);

}  // namespace mpm::cli
