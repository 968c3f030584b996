// A file of counts: a line with the head, then a row a line for each part of the evaluation, each on the disk
// before the next begins. A run that was killed continues after the last whole line; shards are joined from
// such files.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/measure/counts_json.hpp"

namespace mpm::pipeline {

/// What the lines hold. A line at which one of the functions throws nlohmann::json::exception or
/// cv::Exception is damaged.
struct CountsFormat {
    const char* key;  ///< the first of the head
    /// Gets the head; returns the number of rows in a finished file.
    std::function<size_t(const Json& head)> begin;
    std::function<void(const Json& row)> add;
};

class CountsFile {
public:
    /// Continues an existing file, whose lines `format` gets. Throws MeasureError if the file was made with
    /// other settings (Settings), is no such file (Input) or cannot be read (Failed).
    CountsFile(const std::string& path, const Json& head, const CountsFormat& format);

    void add(const Json& row);  ///< survives a kill at once, a power cut within a second
    void finish() const;        ///< all of it survives a power cut

private:
    using Clock = std::chrono::steady_clock;

    std::optional<RowFile> m_file;
    Clock::time_point m_synced = Clock::now();
};

/// Whether the file begins with the key.
bool areCounts(const std::string& path, const char* key);

/// Joins all shards of an evaluation, whose lines `format` gets; returns the head of the whole. Throws
/// MeasureError if a file is damaged or not finished, a shard is missing or there twice, or they are of
/// different evaluations.
Json joinShards(const std::vector<std::string>& paths, const CountsFormat& format);

/// The rows are groups of images, in the order of the file.
CountsFormat groupsInto(EvalCounts& counts);
EvalCounts joinCounts(const std::vector<std::string>& paths);  ///< as joinShards()

}  // namespace mpm::pipeline
