#include "pipeline/measure/counts_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/read_file.hpp"
#include "pipeline/measure/watcher.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

struct Contents {
    Json head;  ///< null if the file has no head yet
    size_t rows = 0, wanted = 0;
    std::uintmax_t wholeBytes = 0;  ///< size up to the end of the last complete line
};

using Kind = MeasureError::Kind;

constexpr std::size_t kLongestLine = 64 << 20;  // enough for a group of large images with many classes

[[noreturn]] void damaged(const std::string& path, size_t line) {
    throw MeasureError(Kind::Input, path + ": line " + std::to_string(line) +
                                        " is not a line of 'mpm eval --counts'; name such a file");
}

std::string beginning(const char* key) {
    return std::string("{\"") + key + "\":1,";
}

int shardOf(const Json& head) {
    return head.at("shard").at(0).get<int>();
}
int shardsOf(const Json& head) {
    return head.at("shard").at(1).get<int>();
}

void takeLine(const std::string& line, const CountsFormat& format, Contents& contents) {
    const Json json = Json::parse(line);
    if (!contents.head.is_null()) {
        format.add(json);
        ++contents.rows;
        return;
    }
    if (json.at(format.key) != 1 || shardOf(json) < 1 || shardOf(json) > shardsOf(json))
        CV_Error(cv::Error::StsParseError, "no head of counts");
    contents.wanted = format.begin(json);
    contents.head = json;
}

/// Reads up to the last complete line. If a run was killed, the last line may be incomplete.
Contents contentsOf(const std::string& path, const CountsFormat& format) {
    Contents contents;
    LineReader file(path, kLongestLine);
    size_t number = 0;
    std::string line;
    while (file.next(line) && file.whole()) {
        ++number;
        contents.wholeBytes += line.size() + 1;
        try {
            takeLine(line, format, contents);
        } catch (const nlohmann::json::exception&) {
            damaged(path, number);
        } catch (const cv::Exception&) {
            damaged(path, number);
        }
    }
    // Reports a read error. Without this check, the caller would cut off all lines after the error.
    if (file.failed()) throw MeasureError(Kind::Failed, path + ": cannot be read to its end; check the disk");
    // If no line is complete, the caller empties the file. So this check rejects a file that does not begin
    // like a file of counts: the user probably named the wrong file.
    const std::string ours = beginning(format.key);
    const size_t common = std::min(ours.size(), line.size());
    if (number == 0 && line.compare(0, common, ours, 0, common) != 0) damaged(path, 1);
    return contents;
}

Contents readContents(const std::string& path, const CountsFormat& format) {
    try {
        return contentsOf(path, format);
    } catch (const cv::Exception& error) {
        const std::string advice = error.err.find(';') == std::string::npos ? "; name a file" : "";
        throw MeasureError(Kind::Input, error.err + advice + " of 'mpm eval --counts'");
    }
}

void checkShards(const std::vector<std::string>& paths, const std::vector<Contents>& shards) {
    std::set<int> seen;
    const int count = shardsOf(shards.front().head);
    for (size_t i = 0; i < shards.size(); ++i) {
        const Contents& shard = shards[i];
        const std::string other = difference(shards.front().head, shard.head, false);
        if (!other.empty() || shardsOf(shard.head) != count)
            throw MeasureError(Kind::Input, paths[i] + ": belongs to another evaluation than " +
                                                paths.front() + ": its \"" +
                                                (other.empty() ? "shard" : other) +
                                                "\" differs; join the shards of one evaluation");
        if (shard.rows != shard.wanted)
            throw MeasureError(Kind::Input, paths[i] + ": is not finished (" + std::to_string(shard.rows) +
                                                " of " + std::to_string(shard.wanted) +
                                                " lines); run the same command again to continue it");
        if (!seen.insert(shardOf(shard.head)).second)
            throw MeasureError(Kind::Input, paths[i] + ": shard " + std::to_string(shardOf(shard.head)) +
                                                " is there twice; name each shard once");
    }
    for (int index = 1; index <= count; ++index)
        if (seen.count(index) == 0)
            throw MeasureError(Kind::Input, "shard " + std::to_string(index) + " of " +
                                                std::to_string(count) + " is missing; name every shard");
}

}  // namespace

CountsFile::CountsFile(const std::string& path, const Json& head, const CountsFormat& format) {
    std::error_code error;
    // Only a regular file can contain earlier counts; a pipe or a device cannot.
    const bool there = fs::is_regular_file(path, error);
    if (error && fs::exists(path))
        throw MeasureError(Kind::Failed, path + ": cannot be accessed (" + error.message() + ")");
    const std::string first = lineOf(head);
    if (!there) {
        m_file.emplace(path, first, Access::Umask);
        m_file->sync();
        return;
    }
    const Contents contents = readContents(path, format);
    const bool begun = !contents.head.is_null();
    const std::string other = begun ? difference(contents.head, head, true) : "";
    if (!other.empty())
        throw MeasureError(Kind::Settings,
                           path + ": belongs to another evaluation: its \"" + other +
                               "\" differs; give the same options to continue, or name another file");
    m_file.emplace(path, contents.wholeBytes);
    if (!begun) m_file->add(first);
}

void CountsFile::add(const Json& row) {
    m_file->add(lineOf(row));
    const Clock::time_point now = Clock::now();
    if (now - m_synced < std::chrono::seconds(1)) return;
    m_synced = now;
    m_file->sync();
}

void CountsFile::finish() const {
    m_file->sync();
}

bool areCounts(const std::string& path, const char* key) {
    try {
        LineReader file(path, kLongestLine);
        std::string line;
        return file.next(line) && line.rfind(beginning(key), 0) == 0;
    } catch (const cv::Exception&) {
        return false;
    }
}

Json joinShards(const std::vector<std::string>& paths, const CountsFormat& format) {
    std::vector<Contents> shards;
    for (const std::string& path : paths) {
        shards.push_back(readContents(path, format));
        if (shards.back().head.is_null()) damaged(path, 1);
    }
    checkShards(paths, shards);
    Json head = std::move(shards.front().head);
    head["shard"] = {1, 1};
    return head;
}

CountsFormat groupsInto(EvalCounts& counts) {
    return {"mpm_counts",
            [&](const Json& head) {
                counts.head = headFrom(head);
                return counts.head.shard.of(counts.head.groups);
            },
            [&](const Json& row) {
                counts.groups.push_back(groupFrom(row, counts.head.classCount, counts.head.ignored));
            }};
}

EvalCounts joinCounts(const std::vector<std::string>& paths) {
    EvalCounts whole;
    whole.head = headFrom(joinShards(paths, groupsInto(whole)));
    std::sort(whole.groups.begin(), whole.groups.end(),
              [](const Group& a, const Group& b) { return a.index < b.index; });
    return whole;
}

}  // namespace mpm::pipeline
