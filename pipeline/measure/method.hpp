// Methods to compare: a reducer with its parameters, or mutual pairs with a schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// How a network merges as it was opened.
struct OwnMerging {
    std::string method = "mpm";
    std::vector<int> blocks;
};
OwnMerging ownMergingOf(const Network& network);

struct Method {
    std::string name;  ///< "none", or as Encoder::setMethod takes it: "tome:r=13"
    std::optional<std::vector<int>>
        blocks;        ///< of "mpm:2+5"; else the method's usual blocks or the model's schedule
    std::string text;  ///< as it was written: "mpm:2+5"; "mpm" as the model's own method, "gentle"

    /// Reuse over time with the model's method: "reuse" or "reuse:refresh=60".
    bool reuses() const { return shortName() == "reuse"; }
    /// Token sharing (CTS) by the model's policy, or another policy: see ShareMethod.
    bool shares() const { return shortName() == "cts"; }
    /// "mpm" without blocks and parameters: the model's own method.
    bool isOwn() const { return reuses() || (name == "mpm" && !blocks); }
    /// As Encoder::setMethod takes it.
    std::string reducer(const OwnMerging& own) const {
        return isOwn() ? own.method : shares() ? "none" : name;
    }
    /// With the model's own method in `text`.
    Method in(const OwnMerging& own) const;
    std::string shortName() const { return name.substr(0, name.find(':')); }
};

/// "none,mpm:2+5,tome:r=13,schedule=falling". Throws MeasureError; parameters are not checked yet.
std::vector<Method> methodsFrom(const std::string& text);

/// Adds reuse to the methods if none reuses; else methods without values get `values`, "on" or "refresh=60".
std::vector<Method> withReuse(std::vector<Method> methods, const std::string& values);

/// Mutual pairs before these blocks, "mpm:2+5".
Method mutualPairsBefore(const std::vector<int>& blocks);

/// Throws MeasureError on a method or parameter that does not exist; needs no model.
void checkMethods(const std::vector<Method>& methods);

/// Throws MeasureError with the encoder's message if the encoder rejects the method. Values of `reuse` that
/// the method does not have are those of the model file. A network that reuses runs no other method in
/// between, which would make it forget.
void applyMethod(Network& network, const Method& method, const OwnMerging& own);

/// Block numbers from 0, increasing, as "2,5"; empty if `text` is something else.
std::optional<std::vector<int>> blocksFrom(const std::string& text, char separator = ',');

/// "cts", "cts:shared=120" or "cts:shared=120,policy=random".
struct ShareMethod {
    enum class Policy { Learned, Random, Oracle };

    std::optional<int> shared;  ///< superpatches; of the model file if it is not given
    Policy policy = Policy::Learned;
};

/// Throws MeasureError on a parameter that does not exist.
ShareMethod shareMethodOf(const Method& method);

/// Sets the superpatches that share in `network` from now on: none for other methods. Throws MeasureError if
/// the method shares but the model has no policy, or not as many superpatches.
void applySharing(Network& network, const Method& method);

/// Scores of superpatches (CV_32F of the size `grid`) by chance.
cv::Mat randomScores(cv::Size grid, std::uint64_t seed);

/// Scores by labels (CV_8U or CV_16U): the share of the most frequent label in each superpatch. So
/// superpatches with a single label are first, in random order.
cv::Mat oracleScores(const cv::Mat& labels, cv::Size grid, std::uint64_t seed);

}  // namespace mpm::pipeline
