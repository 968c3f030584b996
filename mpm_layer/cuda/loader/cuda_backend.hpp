// The backend for GPUs: implements Backend with libmpm_cuda's C interface.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// Returns the backend for device `index`. If the library, the driver or the device is missing, throws an
/// exception that names the missing part.
std::shared_ptr<const Backend> cudaBackend(int index);

}  // namespace mpm
