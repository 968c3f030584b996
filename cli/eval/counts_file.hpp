// --counts FILE: a line that says what is measured, then a line a group of pictures, each on the disk before
// the next begins. A run that was killed goes on behind the last whole line; shards are joined from such
// files.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "cli/eval/eval_counts.hpp"

namespace mpm::cli {

class CountsFile {
public:
    /// Goes on with what is there. Throws Error(kWrongUse) where the file was made with other settings,
    /// Error(kBadInput) where it holds something else, Error(kFailed) where it cannot be written.
    CountsFile(const std::string& path, const Json& head);

    const std::vector<Group>& groups() const { return m_groups; }  ///< those that were there
    void add(const Group& group);  ///< outlives a kill at once, a power cut within a second
    void finish() const;           ///< all of it outlives a power cut

private:
    using Clock = std::chrono::steady_clock;

    std::vector<Group> m_groups;
    std::optional<RowFile> m_file;
    Clock::time_point m_synced = Clock::now();
};

/// All shards of one evaluation as one. Throws Error(kBadInput) where a file is damaged or not finished, a
/// shard is missing or there twice, or they do not belong together.
Counts joinCounts(const std::vector<std::string>& paths);

}  // namespace mpm::cli
