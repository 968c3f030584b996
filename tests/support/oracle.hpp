// The method and the encoder once more, written for clarity: scalar loops in f64, too simple to share a bug
// with the kernels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "mpm_layer/encoder/config.hpp"

namespace mpm::test {

using Rows = std::vector<std::vector<double>>;

Rows toRows(const cv::Mat& matrix);
cv::Mat toMatrix(const Rows& rows, int columns);

double activate(double x, kernels::Activation activation);

/// Similarity of two rows as the method defines it; the caller handles NaN rows.
double cosine(const std::vector<double>& a, const std::vector<double>& b);

struct OracleMerge {
    std::vector<int> nearest;    ///< -1 if a token pairs with none
    std::vector<double> margin;  ///< distance of the two best similarities, infinite if there are not two
    std::vector<int> map;
    int clusters = 0;
};
OracleMerge oracleMerge(const Rows& tokens);

/// Partner of each token under a map: itself if single. Maps are compared by partners, since a single flip
/// shifts all ids.
std::vector<int> partners(const std::vector<int>& map);

Rows oracleMean(const Rows& tokens, const std::vector<int>& map, int clusters);

struct OracleOutput {
    std::vector<Rows> taps;                   ///< restored
    std::vector<std::vector<int>> stageMaps;  ///< in order of the schedule
    std::vector<std::vector<int>> freeMaps;   ///< the maps that the method finds there
    std::vector<double> smallestMargins;      ///< of each stage
};
/// Inputs of the oracle beside the encoder's.
struct OracleGiven {
    std::map<int, std::vector<int>> imposed;  ///< maps by stage, computed if absent
    std::vector<int> entry;                   ///< map at entry; empty if there is none
    /// Added before these blocks, a row for each input token: a merged token gets the mean of the members'
    /// rows.
    std::map<int, Rows> injected;
};
/// Runs an image through the encoder.
OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias, const OracleGiven& given);
OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias,
                           const std::map<int, std::vector<int>>& imposed = {});

}  // namespace mpm::test
