// The backend for GPUs: implements Backend with libmpm_cuda's C interface.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// Throws if the library, the driver, a device or the device of that number is missing, and names it.
std::shared_ptr<const Backend> cudaBackend(int index);

}  // namespace mpm
