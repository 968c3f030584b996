#include "pipeline/measure/counts_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/read_file.hpp"
#include "pipeline/measure/counts_json.hpp"
#include "pipeline/measure/watcher.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

struct Contents {
    Json head;  ///< null if the file has none yet
    EvalCounts counts;
    std::uintmax_t wholeBytes = 0;  ///< up to the end of the last whole line
};

using Kind = MeasureError::Kind;

constexpr std::size_t kLongestLine = 64 << 20;  // counts of a group of large images with many classes

[[noreturn]] void damaged(const std::string& path, size_t line) {
    throw MeasureError(Kind::Input, path + ": line " + std::to_string(line) +
                                        " is not a line of 'mpm eval --counts'; name such a file");
}

bool isPossible(const Shard& shard) {
    return shard.index >= 1 && shard.index <= shard.count;
}

/// Reads up to the last whole line; a kill leaves a torn line at the end.
Contents contentsOf(const std::string& path) {
    Contents contents;
    LineReader file(path, kLongestLine);
    size_t number = 0;
    std::string line;
    while (file.next(line) && file.whole()) {
        ++number;
        contents.wholeBytes += line.size() + 1;
        const Json json = Json::parse(line, nullptr, false);
        try {
            if (number == 1) {
                if (json.at("mpm_counts") != 1) damaged(path, number);
                contents.head = json;
                contents.counts.head = headFrom(json);
                if (!isPossible(contents.counts.head.shard)) damaged(path, number);
            } else {
                const EvalHead& head = contents.counts.head;
                contents.counts.groups.push_back(groupFrom(json, head.classCount, head.ignored));
            }
        } catch (const nlohmann::json::exception&) {
            damaged(path, number);
        } catch (const cv::Exception&) {
            damaged(path, number);
        }
    }
    // A read error is not the end of the file: the rest would be cut off.
    if (file.failed()) throw MeasureError(Kind::Failed, path + ": cannot be read to its end; check the disk");
    // Only a torn first line of ours may be cut off, not a file of another kind.
    const std::string ours = "{\"mpm_counts\":1,";
    const size_t common = std::min(ours.size(), line.size());
    if (number == 0 && line.compare(0, common, ours, 0, common) != 0) damaged(path, 1);
    return contents;
}

Contents readContents(const std::string& path) {
    try {
        return contentsOf(path);
    } catch (const cv::Exception& error) {
        const std::string advice = error.err.find(';') == std::string::npos ? "; name a file" : "";
        throw MeasureError(Kind::Input, error.err + advice + " of 'mpm eval --counts'");
    }
}

/// How many groups shard i of n has.
size_t groupsOf(const EvalHead& head) {
    const size_t index = size_t(head.shard.index), count = size_t(head.shard.count);
    return (head.groups + count - index) / count;
}

void checkShards(const std::vector<std::string>& paths, const std::vector<Contents>& shards) {
    std::set<int> seen;
    const int count = shards.front().counts.head.shard.count;
    for (size_t i = 0; i < shards.size(); ++i) {
        const EvalHead& head = shards[i].counts.head;
        const size_t groups = shards[i].counts.groups.size();
        const std::string other = difference(shards.front().head, shards[i].head, false);
        if (!other.empty() || head.shard.count != count)
            throw MeasureError(Kind::Input, paths[i] + ": is of another evaluation than " + paths.front() +
                                                ", its \"" + (other.empty() ? "shard" : other) +
                                                "\" differs; join the shards of one evaluation");
        if (groups != groupsOf(head))
            throw MeasureError(Kind::Input, paths[i] + ": is not finished (" + std::to_string(groups) +
                                                " of " + std::to_string(groupsOf(head)) +
                                                " groups); run the same command again to continue it");
        if (!seen.insert(head.shard.index).second)
            throw MeasureError(Kind::Input, paths[i] + ": shard " + std::to_string(head.shard.index) +
                                                " is there twice; name each shard once");
    }
    for (int index = 1; index <= count; ++index)
        if (seen.count(index) == 0)
            throw MeasureError(Kind::Input, "shard " + std::to_string(index) + " of " +
                                                std::to_string(count) + " is missing; name every shard");
}

}  // namespace

CountsFile::CountsFile(const std::string& path, const EvalHead& head) {
    std::error_code error;
    // A pipe or a device receives the counts and holds none.
    const bool there = fs::is_regular_file(path, error);
    if (error && fs::exists(path))
        throw MeasureError(Kind::Failed, path + ": cannot be accessed (" + error.message() + ")");
    const Json wanted = toJson(head);
    const std::string first = lineOf(wanted);
    if (!there) {
        m_file.emplace(path, first, Access::Umask);
        m_file->sync();
        return;
    }
    Contents contents = readContents(path);
    const bool begun = !contents.head.is_null();
    const std::string other = begun ? difference(contents.head, wanted, true) : "";
    if (!other.empty())
        throw MeasureError(Kind::Settings,
                           path + ": is of another evaluation, its \"" + other +
                               "\" differs; give the same options to continue, or name another file");
    m_groups = std::move(contents.counts.groups);
    m_file.emplace(path, contents.wholeBytes);
    if (!begun) m_file->add(first);
}

void CountsFile::add(const Group& group) {
    m_file->add(lineOf(toJson(group)));
    const Clock::time_point now = Clock::now();
    if (now - m_synced < std::chrono::seconds(1)) return;
    m_synced = now;
    m_file->sync();
}

void CountsFile::finish() const {
    m_file->sync();
}

EvalCounts joinCounts(const std::vector<std::string>& paths) {
    std::vector<Contents> shards;
    for (const std::string& path : paths) {
        shards.push_back(readContents(path));
        if (shards.back().head.is_null()) damaged(path, 1);
    }
    checkShards(paths, shards);
    EvalCounts whole = std::move(shards.front().counts);
    for (size_t i = 1; i < shards.size(); ++i) {
        std::vector<Group>& more = shards[i].counts.groups;
        std::move(more.begin(), more.end(), std::back_inserter(whole.groups));
    }
    std::sort(whole.groups.begin(), whole.groups.end(),
              [](const Group& a, const Group& b) { return a.index < b.index; });
    whole.head.shard = {1, 1};
    return whole;
}

}  // namespace mpm::pipeline
