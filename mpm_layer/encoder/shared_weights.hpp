// Networks of the same model share one packed copy of its weights, found by content.
#pragma once

#include <memory>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// The result of `backend.pack`, or an earlier one of equal weights that is still in use.
std::shared_ptr<const PackedEncoder> packShared(const Backend& backend, int deviceIndex,
                                                const EncoderConfig& config, const NamedWeights& weights,
                                                Precision precision);

}  // namespace mpm
