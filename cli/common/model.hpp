// A model as the command line names it.
#pragma once

#include <string>

#include "cli/common/options.hpp"
#include "pipeline/segment/network.hpp"

namespace mpm::cli {

/// Loads MODEL and sets device, precision and blocks. Throws Error with the contract's status. MODEL `random`
/// is a ViT-Tiny/16 with random weights, for measuring without a model. `mayBeRandom`: where MODEL is
/// `default` and none is shipped, a network with random weights takes its place.
pipeline::Network openNetwork(const std::string& model, const CommonOptions& options, cv::Size size = {},
                              bool mayBeRandom = false);

/// "mpm", "none", "tome:r=13": as --compare and Encoder::setMethod have it. `mpm:2+5` carries its own
/// schedule.
struct Method {
    std::string name;                        ///< for setMethod: "mpm", "tome:r=13"
    std::optional<std::vector<int>> blocks;  ///< of `mpm:2+5`
    std::string text;                        ///< as it was written

    std::string shortName() const { return name.substr(0, name.find(':')); }
};

std::vector<Method> parseMethods(const std::string& option, const std::string& text);

/// Throws Error(kWrongUse) where a method or a parameter of one does not exist; needs no model.
void checkMethods(const std::string& option, const std::vector<Method>& methods);

/// Throws Error(kWrongUse) with the encoder's words where it refuses. `blocks`: the schedule of a bare `mpm`.
void applyMethod(Encoder& encoder, const Method& method, const std::vector<int>& blocks);

}  // namespace mpm::cli
