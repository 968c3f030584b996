// Functions that nearest.cu and nearest_tensor.cu share.
#pragma once

#include "mpm_layer/cuda/kernels/element.cuh"
#include "mpm_layer/cuda/kernels/merge.hpp"

namespace mpm::cuda {

struct ImageRows {
    int first, count;
};

__device__ inline ImageRows imageRows(const BatchView& batch, int image) {
    const int first = batch.offsets[image] + batch.special;
    return {first, batch.offsets[image + 1] - first};
}

__device__ inline bool counts(const UnitRows& unit, const ImageRows& image, int token) {
    return token < image.count && unit.finite[image.first + token];
}

__device__ inline Candidate larger(Candidate a, Candidate b) {
    return a > b ? a : b;
}

__device__ inline void offer(const UnitRows& unit, const ImageRows& image, int token, Candidate candidate) {
    if (candidate != kNoCandidate) atomicMax(&unit.best[image.first + token], candidate);
}

}  // namespace mpm::cuda
