// The operands of attention's products, traced back to the columns of linear layers.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// An operand of attention's products: `groups` (images x heads) matrices of tokens x size.
struct HeadView {
    int linear = kAbsent;  ///< node that computes it
    int norm = kAbsent;    ///< norm over a head in between; optional
    int64_t groups = 0, tokens = 0, size = 0;
    List<int32_t> rows;     ///< [groups, tokens] row of the linear's result
    List<int32_t> columns;  ///< [groups, size] column of the linear's result
    List<float> bias;       ///< [groups, size] added in between, before the factor
    float factor = 1;       ///< multiplied in between
    bool rotated = false;
    List<float> cos, sin;   ///< [groups, tokens, size] where rotated: x cos + partner sin
    List<int32_t> partner;  ///< [groups, size] component it is rotated with
};

HeadView viewHeads(const RowMatcher& rows, int value, bool transposed);

/// One weight with the columns of all views, head by head; the last view's are multiplied by `lastFactor`.
Dense joinHeads(const RowMatcher& rows, const List<const HeadView*>& views, const List<int64_t>& groups,
                float lastFactor);

/// The tables of these groups (the heads of one image); one table if all heads share it.
Rope ropeOf(const HeadView& view, const List<int64_t>& groups);

}  // namespace mpm::models
