// A second, simple implementation of the method and the encoder, with scalar loops in f64. Tests compare the
// kernels with it.
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

/// Returns the similarity of two rows as the method defines it; the caller handles NaN rows.
double cosine(const std::vector<double>& a, const std::vector<double>& b);

struct OracleMerge {
    std::vector<int> nearest;    ///< the most similar token; -1 if there is none
    std::vector<double> margin;  ///< difference of the two best similarities; infinite if there is only one
    std::vector<int> map;
    int clusters = 0;
};
OracleMerge oracleMerge(const Rows& tokens);

/// Returns the partner of each token in a map; the token itself if it has none. Tests compare partners
/// instead of ids, because a single different pair changes all later ids.
std::vector<int> partners(const std::vector<int>& map);

Rows oracleMean(const Rows& tokens, const std::vector<int>& map, int clusters);

struct OracleOutput {
    std::vector<Rows> taps;                   ///< with all tokens restored
    std::vector<std::vector<int>> stageMaps;  ///< in the order of the schedule
    std::vector<std::vector<int>> freeMaps;   ///< computed maps, also of stages with imposed maps
    std::vector<double> smallestMargins;      ///< the smallest margin of each stage
};
/// Optional inputs of the oracle.
struct OracleGiven {
    std::map<int, std::vector<int>> imposed;  ///< maps by stage; the oracle computes the maps of other stages
    std::vector<int> entry;                   ///< the encoder's input `map`; empty if there is none
    /// Values to add before a block, by block: a row for each input token. A cluster gets the mean of the
    /// members' rows.
    std::map<int, Rows> injected;
};
/// Runs an image through the encoder.
OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias, const OracleGiven& given);
OracleOutput oracleEncoder(const EncoderConfig& config, const NamedWeights& weights, const Rows& tokens,
                           const std::vector<double>& keyBias,
                           const std::map<int, std::vector<int>>& imposed = {});

}  // namespace mpm::test
