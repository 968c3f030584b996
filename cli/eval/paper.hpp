// The figures the method was published with, to stand beside measured ones.
#pragma once

#include <optional>

#include "cli/eval/eval_summary.hpp"

namespace mpm::cli {

struct PaperFigures {
    double miou = 0;    ///< percent
    double gflops = 0;  ///< NaN where not given
    double fps = 0;     ///< on an H100, f32
};

/// Of this data set, model size and method, where "MPM: Mutual Pair Merging" (arXiv 2604.05718) has them.
std::optional<PaperFigures> paperFigures(const Json& head, const EvalRow& row);

}  // namespace mpm::cli
