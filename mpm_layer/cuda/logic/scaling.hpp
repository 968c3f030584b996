// Powers of two that bring a row's largest element near 1, so that squares neither overflow nor vanish.
#pragma once

#include <cmath>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

/// Two factors, both exact: a single factor may leave the f32 range.
struct Scaling {
    float first, second;

    MPM_HOST_DEVICE float apply(float v) const { return v * first * second; }
};

/// For a finite `largest` above 0.
MPM_HOST_DEVICE inline Scaling scalingFor(float largest) {
    int exponent = 0;
    frexpf(largest, &exponent);
    return {ldexpf(1.0f, -exponent / 2), ldexpf(1.0f, -exponent - (-exponent / 2))};
}

}  // namespace mpm::cuda
