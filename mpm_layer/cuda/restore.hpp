// Restoring without an encoder: MpmRestore on the device.
#pragma once

#include "mpm_layer/cuda/interface/entry.h"

namespace mpm::cuda {

/// Uploads, gathers and downloads; complete when it returns.
void restore(int device, const MpmCudaRestore& request);

}  // namespace mpm::cuda
