// Chooses which of the encoders merges.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// The backbone is the longest of the encoders that read the image and no other encoder; with `chains` also
/// those that continue its tokens. All others decode. Throws Refusal if merging would stop half way.
void chooseBackbone(const RowMatcher& rows, const List<Unmatched>& unmatched, bool chains,
                    List<EncoderSpec>& encoders);

/// Whether the probabilities weigh rows in a product, as attention does; deformable attention does not.
bool isAttention(const RowMatcher& rows, int probabilities);

/// Why one operator, which has one of each of these for all its blocks, cannot hold both blocks; empty if it
/// can.
std::string difference(const Block& a, const Block& b);

bool sameValues(const Tensor& a, const Tensor& b);  ///< also if both have none

}  // namespace mpm::models
