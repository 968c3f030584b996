// The output of `mpm bench`: tables, and whether merging pays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/bench_rounds.hpp"
#include "pipeline/measure/method.hpp"

namespace mpm::cli {

class EvalScores {
public:
    EvalScores() = default;
    /// Reads a report of `mpm eval`. Throws Error(kBadInput).
    explicit EvalScores(const std::string& path);

    /// The mIoU (0 to 1) that a method loses against all tokens in this precision, if the report has it.
    /// `blocks`: the schedule if the method has none.
    std::optional<double> loss(const pipeline::Method& method, const std::vector<int>& blocks,
                               const std::string& precision) const;

    /// All tokens, and the schedules of mutual pairs with the fewest operations among those that lose at most
    /// `most`. Throws Error(kFailed) if no schedule does.
    std::vector<pipeline::Method> within(double most) const;

    bool known() const { return !m_rows.empty(); }

private:
    struct Row {
        std::string text, precision;
        std::vector<int> schedule;
        double loss = 0, gflops = 0;
    };
    /// Whether the schedule loses at most `most` in every precision of the report.
    bool fits(const std::vector<int>& schedule, double most) const;

    std::string m_path;
    std::vector<Row> m_rows;
};

/// `width`: columns of the terminal; 0: no limit.
std::string benchTable(const std::vector<pipeline::BenchRow>& rows, int width);
std::string blockTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< of the first batch size, block by block
/// Of the first batch size; a line if nothing was measured.
std::string partTable(const std::vector<pipeline::BenchRow>& rows);
std::string batchTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< empty if no batch is larger than one

/// `scores`: losses of accuracy, if they were measured.
std::string verdict(const std::vector<pipeline::BenchRow>& rows, cv::Size size, const EvalScores& scores);

}  // namespace mpm::cli
