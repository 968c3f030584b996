// A file of counts: a line with the head, then a line for each group of images, each on the disk before the
// next begins. A run that was killed continues after the last whole line; shards are joined from such files.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/measure/eval_counts.hpp"

namespace mpm::pipeline {

class CountsFile {
public:
    /// Continues an existing file. Throws MeasureError if the file was made with other settings
    /// (Settings), is no such file (Input) or cannot be read (Failed).
    CountsFile(const std::string& path, const EvalHead& head);

    const std::vector<Group>& groups() const { return m_groups; }  ///< those that were there
    void add(const Group& group);  ///< survives a kill at once, a power cut within a second
    void finish() const;           ///< all of it survives a power cut

private:
    using Clock = std::chrono::steady_clock;

    std::vector<Group> m_groups;
    std::optional<RowFile> m_file;
    Clock::time_point m_synced = Clock::now();
};

/// Joins all shards of an evaluation. Throws MeasureError if a file is damaged or not finished, a shard
/// is missing or there twice, or they are of different evaluations.
EvalCounts joinCounts(const std::vector<std::string>& paths);

}  // namespace mpm::pipeline
