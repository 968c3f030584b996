// Reuse over time in reports.
#pragma once

#include <vector>

#include "pipeline/measure/counts_json.hpp"
#include "pipeline/measure/reuse_counts.hpp"

namespace mpm::pipeline {

/// Null if nothing reused.
Json reuseJson(const ReuseCounts& reuse);

/// Mean and worst frame; null if there is none.
Json agreementJson(const std::vector<double>& agreement);

}  // namespace mpm::pipeline
