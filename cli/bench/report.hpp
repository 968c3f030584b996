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

    /// mIoU that a method loses against all tokens in this precision (0 to 1), if the report has it.
    /// `blocks`: for a method without its own.
    std::optional<double> loss(const pipeline::Method& method, const std::vector<int>& blocks,
                               const std::string& precision) const;

    /// All tokens, and the schedules of mutual pairs that lose no more than `most` with the fewest
    /// operations. Throws Error(kFailed) if there is none.
    std::vector<pipeline::Method> within(double most) const;

    bool known() const { return !m_rows.empty(); }

private:
    struct Row {
        std::string text, precision;
        std::vector<int> schedule;
        double loss = 0, gflops = 0;
    };
    /// In every precision that the report has.
    bool fits(const std::vector<int>& schedule, double most) const;

    std::string m_path;
    std::vector<Row> m_rows;
};

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
