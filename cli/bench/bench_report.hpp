// What `mpm bench` says: tables, and whether merging pays, in words.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/bench_rounds.hpp"
#include "cli/bench/eval_scores.hpp"

namespace mpm::cli {

std::string benchTable(const std::vector<BenchRow>& rows);
std::string blockTable(const std::vector<BenchRow>& rows);  ///< of the first batch size, block by block
std::string batchTable(const std::vector<BenchRow>& rows);  ///< empty where no batch is larger than one

/// `scores`: what the methods cost in accuracy, where that was measured.
std::string verdict(const std::vector<BenchRow>& rows, cv::Size size, const EvalScores& scores);

Json toJson(const BenchRow& row);

}  // namespace mpm::cli
