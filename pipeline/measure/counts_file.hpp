// A file of counts: a line with the head, then a line for each part of the evaluation. Each line is written
// before the next part begins. If the program is killed, the next run of the evaluation continues after the
// last complete line. The files of all shards can be joined.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/measure/counts_json.hpp"

namespace mpm::pipeline {

/// Functions that read the lines of a file of counts. If a line is damaged, the functions throw
/// nlohmann::json::exception or cv::Exception.
struct CountsFormat {
    const char* key;  ///< the first key of the head
    /// Reads the head; returns the number of rows in a finished file.
    std::function<size_t(const Json& head)> begin;
    std::function<void(const Json& row)> add;
};

class CountsFile {
public:
    /// Begins a file, or continues an existing file and passes its lines to `format`. Throws MeasureError if
    /// the file has other settings (Settings), is not a file of counts (Input) or cannot be read (Failed).
    CountsFile(const std::string& path, const Json& head, const CountsFormat& format);

    void add(const Json& row);  ///< the row survives `kill -9`; syncs to disk about once a second
    void finish() const;        ///< makes all rows survive a power cut

private:
    using Clock = std::chrono::steady_clock;

    std::optional<RowFile> m_file;
    Clock::time_point m_synced = Clock::now();
};

/// Returns whether the file begins with the key, as a file of counts does.
bool areCounts(const std::string& path, const char* key);

/// Joins all shards of an evaluation: passes their lines to `format`, and returns the head of the joined
/// file. Throws MeasureError if a file is damaged or not finished, if a shard is missing or given twice, or
/// if the shards belong to different evaluations.
Json joinShards(const std::vector<std::string>& paths, const CountsFormat& format);

/// Returns the format of a file of counts. Reading the file stores its head and its groups in `counts`.
CountsFormat groupsInto(EvalCounts& counts);
EvalCounts joinCounts(const std::vector<std::string>& paths);  ///< like joinShards()

}  // namespace mpm::pipeline
