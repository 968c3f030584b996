// Networks with equal weights share a packed copy.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// Packs weights with backend.pack(), or returns a packed copy of equal weights that is still in use.
std::shared_ptr<const PackedEncoder> packShared(const Backend& backend, int deviceIndex,
                                                const EncoderConfig& config, const NamedWeights& weights,
                                                Precision precision);

}  // namespace mpm
