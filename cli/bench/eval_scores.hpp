// The accuracy side of the bargain: what `mpm eval --json` measured, and which schedules keep within a loss.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/model.hpp"

namespace mpm::cli {

class EvalScores {
public:
    EvalScores() = default;
    /// Reads a report of `mpm eval`. Throws Error(kBadInput).
    explicit EvalScores(const std::string& path);

    /// mIoU lost by such a method (0 to 1), where the report has it beside all tokens. `blocks`: of a bare
    /// `mpm`.
    std::optional<double> loss(const Method& method, const std::vector<int>& blocks) const;

    /// All tokens, and the schedules of mutual pairs that lose no more than `most` with the fewest
    /// operations. Throws Error(kFailed) where there is none.
    std::vector<Method> within(double most) const;

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
