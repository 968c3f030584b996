// Chains: an encoder that reads the tokens of another one, perhaps with something added or in front.
#pragma once

#include <optional>

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// Rows in front of and behind the image tokens.
struct OtherRows {
    int special = 0;
    int trailing = 0;
};

/// If the image tokens of `next` are those of `segment` in order, perhaps each with something added.
std::optional<OtherRows> continuationOf(const RowMatcher& rows, const EncoderSpec& segment,
                                        const EncoderSpec& next);

}  // namespace mpm::models
