// The output of `mpm bench`: tables, and a line that says whether merging is faster.
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

    /// Returns the mIoU (0 to 1) that a method loses in this precision, compared with all tokens; nothing if
    /// the report does not contain the method. `blocks`: the schedule, if `method` does not name a schedule.
    std::optional<double> loss(const pipeline::Method& method, const std::vector<int>& blocks,
                               const std::string& precision) const;

    /// Returns the method "none", and mutual pairs with each of a few schedules. Of all schedules that lose
    /// at most `most` mIoU (0 to 1), these schedules have the fewest operations. Throws Error(kFailed) if
    /// every schedule loses more.
    std::vector<pipeline::Method> within(double most) const;

    bool known() const { return !m_rows.empty(); }

private:
    struct Row {
        std::string text, precision;
        std::vector<int> schedule;
        double loss = 0, gflops = 0;
    };
    /// Returns whether the schedule loses at most `most` in every precision of the report.
    bool fits(const std::vector<int>& schedule, double most) const;

    std::string m_path;
    std::vector<Row> m_rows;
};

/// Returns a table with a row for each result. `width`: columns of the terminal; 0: no limit.
std::string benchTable(const std::vector<pipeline::BenchRow>& rows, int width);
std::string blockTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< tokens and GFLOPs by block, at the first batch size
/// Returns the times of the model's parts at the first batch size. If OpenCV measured no layers, returns a
/// message instead.
std::string partTable(const std::vector<pipeline::BenchRow>& rows);
std::string batchTable(
    const std::vector<pipeline::BenchRow>& rows);  ///< empty if no batch is larger than one

/// Returns text about the time that each method saves. `scores`: losses of accuracy, if they were measured.
std::string verdict(const std::vector<pipeline::BenchRow>& rows, cv::Size size, const EvalScores& scores);

}  // namespace mpm::cli
