#include "cli/eval/counts_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/common/error.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

struct Contents {
    Counts counts;
    std::uintmax_t wholeBytes = 0;  ///< up to the end of the last whole line
};

/// What names the machine and not the evaluation.
const std::set<std::string> kOfTheMachine = {"cpu", "cpu_features", "threads", "model", "shard"};

/// The first entry that differs, empty where they are one evaluation.
std::string difference(const Json& one, const Json& other, bool shardToo) {
    for (const Json* head : {&one, &other})
        for (const auto& [key, value] : head->items()) {
            const bool machine = kOfTheMachine.count(key) > 0 && !(shardToo && key == "shard");
            const Json& counterpart = (head == &one ? other : one).value(key, Json());
            if (!machine && value != counterpart) return key;
        }
    return {};
}

[[noreturn]] void damaged(const std::string& path, size_t line) {
    throw Error(kBadInput, path + ": line " + std::to_string(line) +
                               " is not what 'mpm eval --counts' writes; name such a file");
}

/// Reads up to the last whole line; a torn one at the end is what a kill leaves.
Contents readContents(const std::string& path) {
    Contents contents;
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(kBadInput, path + ": cannot be read; name a file of 'mpm eval --counts'");
    size_t number = 0;
    std::string line;
    for (; std::getline(file, line) && !file.eof(); line.clear()) {
        ++number;
        contents.wholeBytes += line.size() + 1;
        const Json json = Json::parse(line, nullptr, false);
        try {
            if (number == 1) {
                if (json.at("mpm_counts") != 1) damaged(path, number);
                contents.counts.head = json;
            } else {
                contents.counts.groups.push_back(
                    groupFrom(json, contents.counts.classes(), contents.counts.ignored()));
            }
        } catch (const nlohmann::json::exception&) {
            damaged(path, number);
        } catch (const cv::Exception&) {
            damaged(path, number);
        }
    }
    // A disk that does not answer is no end of the file: what was not read would be cut away.
    if (file.bad()) throw Error(kFailed, path + ": cannot be read to its end; look at the disk's health");
    // What will be cut away must be a torn first line of ours, not somebody's file.
    const std::string ours = "{\"mpm_counts\":1,";
    const size_t common = std::min(ours.size(), line.size());
    if (number == 0 && line.compare(0, common, ours, 0, common) != 0) damaged(path, 1);
    return contents;
}

/// How many groups shard i of n has.
size_t groupsOf(const Json& head) {
    const size_t groups = head.at("groups"), index = head.at("shard").at(0), count = head.at("shard").at(1);
    return (groups + count - index) / count;
}

void checkShards(const std::vector<std::string>& paths, const std::vector<Counts>& shards) {
    std::set<int> seen;
    const int count = shards.front().head.at("shard").at(1);
    for (size_t i = 0; i < shards.size(); ++i) {
        const Json& head = shards[i].head;
        const std::string other = difference(shards.front().head, head, false);
        if (!other.empty() || head.at("shard").at(1) != count)
            throw Error(kBadInput, paths[i] + ": is of another evaluation than " + paths.front() +
                                       ", its \"" + (other.empty() ? "shard" : other) +
                                       "\" differs; join the shards of one evaluation");
        if (shards[i].groups.size() != groupsOf(head))
            throw Error(kBadInput, paths[i] + ": is not finished (" +
                                       std::to_string(shards[i].groups.size()) + " of " +
                                       std::to_string(groupsOf(head)) +
                                       " groups); run the same command again, it goes on");
        if (!seen.insert(head.at("shard").at(0).get<int>()).second)
            throw Error(kBadInput, paths[i] + ": shard " + std::to_string(int(head.at("shard").at(0))) +
                                       " is there twice; name each shard once");
    }
    for (int index = 1; index <= count; ++index)
        if (seen.count(index) == 0)
            throw Error(kBadInput, "--join: shard " + std::to_string(index) + " of " + std::to_string(count) +
                                       " is missing; name every shard");
}

std::string lineOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

CountsFile::CountsFile(const std::string& path, const Json& head) {
    std::error_code error;
    const bool there = fs::exists(path, error);
    if (error) throw Error(kFailed, path + ": cannot be looked at (" + error.message() + ")");
    const std::string first = lineOf(head) + '\n';
    if (!there) {
        m_file.emplace(path, first);
        m_file->sync();
        return;
    }
    Contents contents = readContents(path);
    const bool begun = !contents.counts.head.is_null();
    const std::string other = begun ? difference(contents.counts.head, head, true) : "";
    if (!other.empty())
        throw Error(kWrongUse, "--counts: " + path + " is of another evaluation, its \"" + other +
                                   "\" differs; give the same options to go on, or name another file");
    m_groups = std::move(contents.counts.groups);
    m_file.emplace(path, contents.wholeBytes);
    if (!begun) m_file->add(first);
}

void CountsFile::add(const Group& group) {
    m_file->add(lineOf(toJson(group)) + '\n');
    const Clock::time_point now = Clock::now();
    if (now - m_synced < std::chrono::seconds(1)) return;
    m_synced = now;
    m_file->sync();
}

void CountsFile::finish() const {
    m_file->sync();
}

Counts joinCounts(const std::vector<std::string>& paths) {
    std::vector<Counts> shards;
    for (const std::string& path : paths) {
        shards.push_back(readContents(path).counts);
        if (shards.back().head.is_null()) damaged(path, 1);
    }
    checkShards(paths, shards);
    Counts whole = std::move(shards.front());
    for (size_t i = 1; i < shards.size(); ++i)
        std::move(shards[i].groups.begin(), shards[i].groups.end(), std::back_inserter(whole.groups));
    std::sort(whole.groups.begin(), whole.groups.end(),
              [](const Group& a, const Group& b) { return a.index < b.index; });
    whole.head["shard"] = {1, 1};
    return whole;
}

}  // namespace mpm::cli
