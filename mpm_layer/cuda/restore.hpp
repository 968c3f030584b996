// The gather that undoes merges, by itself: MpmRestore on the device.
#pragma once

#include "mpm_layer/cuda/entry.h"

namespace mpm::cuda {

/// Up, one gather, down; done when it returns.
void restore(int device, const MpmCudaRestore& request);

}  // namespace mpm::cuda
