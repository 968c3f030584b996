// Which names an encoder's weights may and must have. See docs/reference/operators.md.
#pragma once

#include <string>
#include <vector>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

/// Throws with the name that is unknown, given twice or missing. A weight under a wrong name would be passed
/// over, and the encoder would compute something else without a word.
void checkWeightNames(const std::vector<std::string>& names, const EncoderConfig& config);

}  // namespace mpm
