// Runs chains of encoder segments as a network does, but without cv::dnn.
#pragma once

#include <vector>

#include "mpm_layer/encoder/chain.hpp"
#include "mpm_layer/encoder_suite.hpp"

namespace mpm::test {

inline MergeMap mapOf(const std::vector<int>& ids) {
    return toMergeMap(cv::Mat(ids, true).reshape(1, 1), "a test's map");
}

/// Runs an encoder that takes a map of each image as input.
inline Ran runWithMaps(const Target& target, const EncoderCase& encoder, const cv::Mat& batch,
                       const std::vector<MergeMap>& maps, const cv::Mat& keyBias = cv::Mat()) {
    SessionInput input;
    input.tokens = batch;
    input.keyBias = keyBias;
    input.maps = maps;
    return runEncoder(encoder, input, on(target));
}

}  // namespace mpm::test
