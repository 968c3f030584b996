// Reuse over time in reports.
#pragma once

#include <string>
#include <vector>

#include "pipeline/measure/reuse_counts.hpp"

namespace mpm::cli {

struct ReuseFigures {
    std::string method;
    double ms = 0, msOfAllTokens = 0, gflops = 0, gflopsOfAllTokens = 0;
};

/// A sentence or two.
std::string reuseText(const ReuseFigures& figures, const pipeline::ReuseCounts& reuse,
                      const std::vector<double>& agreement);

}  // namespace mpm::cli
