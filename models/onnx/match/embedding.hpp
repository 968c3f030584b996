// The patches of the image that the tokens of an encoder are.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// Where the rows of an encoder's stream come from.
struct Embedding {
    static constexpr int32_t kSpecial = -1;

    int source = kAbsent;
    bool channelsLast = false;
    int64_t gridRows = 0, gridColumns = 0;
    List<int32_t> image;  ///< by row; of special ones kSpecial
    List<int32_t> token;  ///< by row, in raster order of its image
    Terms terms;
    List<int32_t> termRow;  ///< row of the terms by row of the stream
    List<Norm> norms;       ///< the last one first
};

/// Follows the rows of the stream back to the embedded patches, through norms of whole rows. Throws Mismatch.
Embedding embeddingOf(const RowMatcher& rows, const EncoderSpec& encoder);

}  // namespace mpm::models
