// A warp computes LayerNorm or RMSNorm of a row. Each lane reads V neighbouring elements at a time.
#pragma once

#include "mpm_layer/cuda/kernels/element.cuh"
#include "mpm_layer/cuda/kernels/rows.hpp"

namespace mpm::cuda {

struct RowScale {
    float mean, inverse;
};

/// Reads the row for the mean and again for the variance, the second time from the L1 cache.
template <class In, int V>
__device__ RowScale scaleOf(const In* row, int width, const NormView& norm) {
    if (!norm.present) return {0.0f, 1.0f};
    float mean = 0;
    if (norm.rule.kind == NormKind::Layer) {
        float sum = 0;
        for (int i = threadIdx.x * V; i < width; i += 32 * V) {
            const auto pack = loadPack<In, V>(row + i);
            for (int e = 0; e < V; ++e)
                sum += toFloat(pack.v[e]);
        }
        mean = warpSum(sum) / width;
    }
    float squares = 0;
    for (int i = threadIdx.x * V; i < width; i += 32 * V) {
        const auto pack = loadPack<In, V>(row + i);
        for (int e = 0; e < V; ++e) {
            const float centred = toFloat(pack.v[e]) - mean;
            squares = fmaf(centred, centred, squares);
        }
    }
    return {mean, 1.0f / sqrtf(warpSum(squares) / width + norm.rule.epsilon)};
}

template <class In, class Out, int V>
__device__ void writeNormed(const In* from, int width, const NormView& norm, const RowScale& scale, Out* to) {
    for (int i = threadIdx.x * V; i < width; i += 32 * V) {
        const auto pack = loadPack<In, V>(from + i);
        Pack<Out, V> result;
        for (int e = 0; e < V; ++e) {
            float y = (toFloat(pack.v[e]) - scale.mean) * scale.inverse;
            if (norm.weight) y *= norm.weight[i + e];
            if (norm.bias) y += norm.bias[i + e];
            result.v[e] = fromFloat<Out>(y);
        }
        storePack(to + i, result);
    }
}

}  // namespace mpm::cuda
