// The backend for GPUs: implements Backend with libmpm_cuda's C interface.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// Throws if the library, the driver or the device of this number is missing, with the name of that part.
std::shared_ptr<const Backend> cudaBackend(int index);

}  // namespace mpm
