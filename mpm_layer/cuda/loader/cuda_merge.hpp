// MpmMerge and MpmRestore on a GPU: a merge and its way back without an encoder around them.
#pragma once

#include "mpm_layer/cuda/loader/library.hpp"
#include "mpm_layer/encoder/backend.hpp"

namespace mpm::cuda {

/// As Backend::merge() and Backend::restore() have them.
void merge(const MpmCudaEntry& entry, int device, const cv::Mat& tokens, int special,
           const PlaceMerged& place);
void restore(const MpmCudaEntry& entry, int device, const cv::Mat& merged, const std::vector<MergeMap>& maps,
             int special, cv::Mat& out);

}  // namespace mpm::cuda
