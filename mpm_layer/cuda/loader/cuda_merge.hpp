// MpmMerge and MpmRestore on a GPU: a merge or a restore without an encoder.
#pragma once

#include "mpm_layer/cuda/loader/library.hpp"
#include "mpm_layer/encoder/backend.hpp"

namespace mpm::cuda {

/// See Backend::merge() and Backend::restore().
void merge(const MpmCudaEntry& entry, int device, const cv::Mat& tokens, int special,
           const PlaceMerged& place);
void restore(const MpmCudaEntry& entry, int device, const cv::Mat& merged, const std::vector<MergeMap>& maps,
             int special, cv::Mat& out);

}  // namespace mpm::cuda
