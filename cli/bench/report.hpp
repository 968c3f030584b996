// The output of `mpm bench`: tables, and whether merging pays.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/eval_scores.hpp"
#include "pipeline/measure/bench_rounds.hpp"

namespace mpm::cli {

/// `width`: columns of the terminal; 0: any.
std::string benchTable(const std::vector<pipeline::BenchRow>& rows, int width);
std::string blockTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< of the first batch size, block by block
std::string partTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< of the first batch size; a line where none is measured
std::string batchTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< empty if no batch is larger than one

/// `scores`: losses of accuracy, where they were measured.
std::string verdict(const std::vector<pipeline::BenchRow>& rows, cv::Size size, const EvalScores& scores);

}  // namespace mpm::cli
