// Merges tokens on the device (finds nearest tokens, numbers clusters, averages their rows) and restores
// them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "mpm_layer/cuda/kernels/rows.hpp"
#include "mpm_layer/cuda/logic/arithmetic.hpp"

namespace mpm::cuda {

/// Rows scaled to length 1, as f32 or as bf16 terms (SplitValue), padded with zeros to `stride`. If a row
/// contains NaN or infinity, its entry of `finite` is 0. Rows have the same indices as in the batch.
struct UnitRows {
    float* data;           ///< for findNearest(), else null
    __nv_bfloat16* split;  ///< for findNearestOnTensorCores(), else null
    int stride;            ///< a multiple of kUnitStep
    unsigned char* finite;
    Candidate* best;  ///< each token's most similar token so far; indices count from the first image token

    MPM_HOST_DEVICE size_t splitStride() const { return static_cast<size_t>(stride) * kSplitTerms; }
};
constexpr int kUnitStep = 16;

void normaliseRows(const BatchView& batch, const float* rows, const UnitRows& unit, cudaStream_t stream);
void findNearest(const BatchView& batch, const UnitRows& unit, cudaStream_t stream);
void findNearestOnTensorCores(const BatchView& batch, const UnitRows& unit, cudaStream_t stream);

/// The clusters of every image. Each image has space for `pitch` ids and members, and `pitch` + 1 starts.
struct ClusterTables {
    int* ids;
    int* starts;
    int* members;
    int* counts;  ///< number of clusters of each image
    int pitch;

    MPM_HOST_DEVICE ClusterLists of(int image) const {
        const size_t at = static_cast<size_t>(image) * pitch;
        return {ids + at, starts + at + image, members + at};
    }
};

void numberClusters(const BatchView& batch, const Candidate* best, const ClusterTables& tables,
                    cudaStream_t stream);
/// Computes the index of each image's first row after the merge, and the size of the merged batch.
void placeImages(const BatchView& batch, const ClusterTables& tables, int* offsets, Extent* extent,
                 cudaStream_t stream);

/// The rows of the batch, each with size (in image tokens), key bias and position.
struct RowState {
    float* rows;
    float* sizes;
    float* bias;  ///< key bias of each row; null if the batch has no key biases
    int* positions;
};

/// Merges rows. `offsets`: from placeImages(); `mean`: as in MpmCudaStage.
void mergeRows(const BatchView& batch, const RowState& from, const int* offsets, const ClusterTables& tables,
               int mean, const RowState& to, cudaStream_t stream);

/// Sets composed[image][token] = ids[image][composed[image][token]].
void composeMaps(const ClusterTables& tables, int images, int tokens, int* composed, cudaStream_t stream);

/// Initialises offsets, sizes, positions and `composed` for a batch in which no tokens are merged yet.
void startBatch(const BatchView& batch, int* offsets, const RowState& state, int* composed,
                cudaStream_t stream);

/// Writes a copy of each token's row to `out`, [images][special + tokens][dim]. If `norm` is present,
/// normalises the copies.
void restoreRows(const BatchView& batch, const float* rows, const NormView& norm, const int* composed,
                 int tokens, float* out, cudaStream_t stream);

}  // namespace mpm::cuda
