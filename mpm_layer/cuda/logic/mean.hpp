// An element of the mean of a cluster's rows, summed in f64 as on the CPU: no overflow, no underflow.
#pragma once

#include <cstddef>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

/// `rows` points at the element in token 0's row. `weights`, by token, may be null.
MPM_HOST_DEVICE inline float meanElement(const float* rows, size_t stride, const int* members, int count,
                                         const float* weights) {
    if (count == 1) return rows[members[0] * stride];
    if (!weights && count == 2) {
        return static_cast<float>((static_cast<double>(rows[members[0] * stride]) +
                                   static_cast<double>(rows[members[1] * stride])) *
                                  0.5);
    }
    double total = weights ? weights[members[0]] : 1.0;
    double sum = total * static_cast<double>(rows[members[0] * stride]);  // negative zeros keep their sign
    for (int m = 1; m < count; ++m) {
        const double weight = weights ? weights[members[m]] : 1.0;
        sum += weight * static_cast<double>(rows[members[m] * stride]);
        total += weight;
    }
    return static_cast<float>(sum / total);
}

}  // namespace mpm::cuda
