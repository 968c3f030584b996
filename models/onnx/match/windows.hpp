// Windows of image tokens within which blocks attend.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// Whether a block attends to other rows than those of a whole image in their order.
bool hasWindows(const EncoderSpec& encoder);

/// Finds out which tokens of the image the windows of the blocks hold, and which blocks are global.
/// Afterwards the blocks are those of an encoder over whole images. Throws Mismatch if the windows are of
/// another kind.
void findWindows(const RowMatcher& rows, EncoderSpec& encoder);

}  // namespace mpm::models
