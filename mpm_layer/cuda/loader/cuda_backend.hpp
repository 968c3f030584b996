// A GPU as a device of the encoder: libmpm_cuda's plain C behind the Backend interface.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// Throws with what is missing: the library, the driver, a device, the device of that number.
std::shared_ptr<const Backend> cudaBackend(int index);

}  // namespace mpm
