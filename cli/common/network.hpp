// Opens the network of MODEL with the common options, and reads the methods of --compare.
#pragma once

#include <string>
#include <vector>

#include "cli/common/options.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/network.hpp"

namespace mpm::cli {

/// Loads MODEL and applies the options that are given, such as device, precision, blocks and threads. Throws
/// Error. MODEL `random` is a ViT-Tiny/16 with random weights, for measuring without a model. `mayBeRandom`:
/// if MODEL is `default` and no default model is installed, the network has random weights.
pipeline::Network openNetwork(const std::string& model, const CommonOptions& options, cv::Size size = {},
                              bool mayBeRandom = false);

/// Parses the methods of --compare. Throws Error(kWrongUse) if the text is malformed; checkMethods() checks
/// names and parameters.
std::vector<pipeline::Method> parseMethods(const std::string& option, const std::string& text);

/// If bench or eval has --reuse, adds reuse with the values of --reuse to the methods.
void addReuse(const CommonOptions& options, std::vector<pipeline::Method>& methods);

/// Throws Error(kWrongUse) if a method or parameter does not exist.
void checkMethods(const std::string& option, const std::vector<pipeline::Method>& methods);

std::string methodsHelp();

/// Reads the cost of a network from its model file. Throws Error(kBadInput).
pipeline::ModelCost modelCost(const pipeline::Network& network);

}  // namespace mpm::cli
