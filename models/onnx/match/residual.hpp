// The sum by which the result of attention joins the tokens, alone or together with an MLP beside it.
#pragma once

#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {

/// Values of the graph. With an MLP beside attention the sum has three terms, in any order.
struct Residual {
    int branch = kAbsent;     ///< attention's term; absent if there is no such sum
    int middle = kAbsent;     ///< the sum of two terms
    int mlpBranch = kAbsent;  ///< the MLP's term, if the sum of three is complete without following the MLP
    int output = kAbsent;     ///< then the sum
};

/// `result` is that of attention's projection, `stream` are the tokens.
Residual residualAfter(const RowMatcher& rows, int result, int stream);

}  // namespace mpm::models
