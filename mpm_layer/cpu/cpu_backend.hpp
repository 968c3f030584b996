// The processor as a device of the encoder.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

std::shared_ptr<const Backend> cpuBackend();

}  // namespace mpm
