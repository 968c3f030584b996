// A measurement of speed as JSON: the form of `mpm bench --json`.
#pragma once

#include <vector>

#include "pipeline/measure/bench_rounds.hpp"
#include "pipeline/measure/counts_json.hpp"

namespace mpm::pipeline {

Json toJson(const BenchRow& row);
Json benchJson(const MeasureHead& head, const std::vector<BenchRow>& rows);

}  // namespace mpm::pipeline
