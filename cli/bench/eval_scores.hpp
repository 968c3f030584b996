// Accuracy from a report of `mpm eval --json`: the loss of each method, and the schedules within a loss.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/method.hpp"

namespace mpm::cli {

class EvalScores {
public:
    EvalScores() = default;
    /// Reads a report of `mpm eval`. Throws Error(kBadInput).
    explicit EvalScores(const std::string& path);

    /// mIoU that a method loses against all tokens (0 to 1), where the report has it. `blocks`: for a method
    /// without its own.
    std::optional<double> loss(const pipeline::Method& method, const std::vector<int>& blocks) const;

    /// All tokens, and the schedules of mutual pairs that lose no more than `most` with the fewest
    /// operations. Throws Error(kFailed) where there is none.
    std::vector<pipeline::Method> within(double most) const;

    bool known() const { return !m_rows.empty(); }

private:
    struct Row {
        std::string text;
        std::vector<int> schedule;
        double loss = 0, gflops = 0;
    };
    std::string m_path;
    std::vector<Row> m_rows;
};

}  // namespace mpm::cli
