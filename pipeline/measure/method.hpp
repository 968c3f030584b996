// Methods to compare: a reducer with its parameters and schedule, reuse, or token sharing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// The method and blocks that a network had when it was opened.
struct OwnMerging {
    std::string method = "mpm";
    std::vector<int> blocks;
};
OwnMerging ownMergingOf(const Network& network);

struct Method {
    std::string name;  ///< "none", "reuse", "cts", or an argument of Encoder::setMethod, such as "tome:r=13"
    std::optional<std::vector<int>>
        blocks;        ///< {2, 5} for "mpm:2+5"; absent: the method's usual blocks or the model's schedule
    std::string text;  ///< what the user wrote: "mpm:2+5"; in() replaces "mpm", for example with "gentle"

    /// Returns whether the method is reuse with the model's reducer: "reuse" or "reuse:refresh=60".
    bool reuses() const { return shortName() == "reuse"; }
    /// Returns whether the method is token sharing (CTS), with any policy (see ShareMethod).
    bool shares() const { return shortName() == "cts"; }
    /// Returns whether the method merges as in the model file: "mpm" without blocks and parameters, or reuse.
    bool isOwn() const { return reuses() || (name == "mpm" && !blocks); }
    /// Returns the argument of Encoder::setMethod.
    std::string reducer(const OwnMerging& own) const {
        return isOwn() ? own.method : shares() ? "none" : name;
    }
    /// Returns a copy in which `text` names the method of the model file instead of "mpm".
    Method in(const OwnMerging& own) const;
    std::string shortName() const { return name.substr(0, name.find(':')); }
};

/// Parses a list of methods, which may have parameters: "none,mpm:2+5,tome:r=13,schedule=falling" has three
/// methods. Throws MeasureError. Does not check the parameters; checkMethods() does.
std::vector<Method> methodsFrom(const std::string& text);

/// Gives `values` ("on" or "refresh=60") to methods that reuse and have no values. If no method reuses, adds
/// a method that reuses, with `values`.
std::vector<Method> withReuse(std::vector<Method> methods, const std::string& values);

/// Returns the method that merges mutual pairs before these blocks, such as "mpm:2+5".
Method mutualPairsBefore(const std::vector<int>& blocks);

/// Throws MeasureError if a method or parameter does not exist; needs no model.
void checkMethods(const std::vector<Method>& methods);

/// Sets the network's method. Throws MeasureError with the encoder's message if the encoder rejects the
/// method. Values of reuse that the method does not name come from the model file. Between frames of reuse,
/// the network must not run another method, because the network would then forget the earlier frames.
void applyMethod(Network& network, const Method& method, const OwnMerging& own);

/// Parses increasing block numbers, such as "2,5"; returns nothing for other text.
std::optional<std::vector<int>> blocksFrom(const std::string& text, char separator = ',');

/// Parameters of token sharing ("cts:shared=120,policy=random"). A superpatch is a square of four patches.
struct ShareMethod {
    enum class Policy { Learned, Random, Oracle };

    std::optional<int> shared;  ///< number of superpatches; absent: from the model file
    Policy policy = Policy::Learned;
};

/// Throws MeasureError if a parameter does not exist.
ShareMethod shareMethodOf(const Method& method);

/// Sets how many superpatches of `network` become one token each: none if the method is not token sharing.
/// Throws MeasureError if the method is token sharing, but the model has no policy or too few superpatches.
void applySharing(Network& network, const Method& method);

/// Returns random scores of superpatches, 0 to 1 (CV_32F of the size `grid`).
cv::Mat randomScores(cv::Size grid, std::uint64_t seed);

/// Returns scores from the true labels (CV_8U or CV_16U): the share of the most frequent label in each
/// superpatch. Superpatches with equal shares get a random order.
cv::Mat oracleScores(const cv::Mat& labels, cv::Size grid, std::uint64_t seed);

}  // namespace mpm::pipeline
