// Rotary tables of another image size, where the values of the export's tables show their formula.
#pragma once

#include <cstdint>
#include <string>

#include "models/onnx/ir/encoder.hpp"

namespace mpm::models {

/// Rows and columns of patches.
struct PatchGrid {
    int64_t rows = 0, columns = 0;
    int64_t count() const { return elementCount({rows, columns}); }
};

struct ResizedRope {
    Rope rope;
    std::string note;  ///< for the user, if the values leave a choice; else empty
};

/// `rope` holds the rows of the image, row-major, [heads or 1, rows * columns, head size]; in front of and
/// behind them may be rows of angle 0, which stay. The formula must give its values on `from` (to 1e-5, or to
/// the rounding of f16). Throws Refusal if no known formula does, or if several do that differ on `to`.
ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to);

}  // namespace mpm::models
