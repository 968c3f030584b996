#include "pipeline/measure/detector/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/printable.hpp"
#include "base/read_file.hpp"
#include "base/statistics.hpp"
#include "pipeline/measure/watcher.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

using Kind = MeasureError::Kind;

constexpr size_t kLongestCounts = 16 << 20;
Json toJson(const DetectionCounts& counts) {
    Json json = {{"row", counts.row},
                 {"image", counts.image},
                 {"left_out", counts.leftOut},
                 {"device", counts.device},
                 {"tokens", counts.tokens},
                 {"schedule", counts.schedule},
                 {"operations", finite(counts.operations)},
                 {"ms", counts.ms},
                 {"matches", Json::array()}};
    if (counts.reuse.forwards > 0)
        json["reuse"] = {counts.reuse.forwards, counts.reuse.full, counts.reuse.suspended,
                         counts.reuse.recomputed};
    for (const CocoMatches& one : counts.matches)
        json["matches"].push_back({{"category", one.category},
                                   {"truth", one.truth},
                                   {"scores", one.scores},
                                   {"matched", one.matched},
                                   {"ignored", one.ignored}});
    return json;
}

DetectionCounts countsFrom(const Json& json) {
    DetectionCounts counts;
    json.at("row").get_to(counts.row);
    json.at("image").get_to(counts.image);
    json.at("left_out").get_to(counts.leftOut);
    json.at("device").get_to(counts.device);
    json.at("tokens").get_to(counts.tokens);
    json.at("schedule").get_to(counts.schedule);
    json.at("ms").get_to(counts.ms);
    counts.operations = json.at("operations").is_null() ? NAN : json.at("operations").get<double>();
    if (json.contains("reuse")) {
        const Json& reuse = json["reuse"];
        counts.reuse = {reuse.at(0).get<int>(), reuse.at(1).get<int>(), reuse.at(2).get<int>(),
                        reuse.at(3).get<double>()};
    }
    for (const Json& entry : json.at("matches")) {
        CocoMatches one;
        one.image = counts.image;
        entry.at("category").get_to(one.category);
        entry.at("truth").get_to(one.truth);
        entry.at("scores").get_to(one.scores);
        entry.at("matched").get_to(one.matched);
        entry.at("ignored").get_to(one.ignored);
        if (one.matched.size() != one.scores.size() || one.ignored.size() != one.scores.size() ||
            one.scores.size() > CocoMatches::kMost)
            throw MeasureError(Kind::Input, {});
        counts.matches.push_back(std::move(one));
    }
    return counts;
}

struct DetectorFile {
    Json head;
    std::vector<DetectionCounts> counts;
    std::uintmax_t wholeBytes = 0;
};

/// Up to the last whole line; a kill leaves a torn one at the end.
DetectorFile detectorFile(const std::string& path) {
    DetectorFile contents;
    size_t number = 0;
    const auto damaged = [&] {
        throw MeasureError(Kind::Input,
                           printable(path) + ": line " + std::to_string(number) +
                               " is not a line of 'mpm eval --counts' of a detector; name such a file");
    };
    try {
        LineReader file(path, kLongestCounts);
        std::string line;
        while (file.next(line) && file.whole()) {
            ++number;
            contents.wholeBytes += line.size() + 1;
            const Json json = Json::parse(line);
            if (number > 1) {
                contents.counts.push_back(countsFrom(json));
                if (contents.counts.back().row < 0 ||
                    contents.counts.back().row >= static_cast<int>(contents.head.at("settings").size()))
                    damaged();
                continue;
            }
            const Json& shard = json.at("shard");
            if (json.at("mpm_detection_counts") != 1 || shard.at(0).get<int>() < 1 ||
                shard.at(0).get<int>() > shard.at(1).get<int>() ||
                json.at("images").get<std::int64_t>() < 0 || !json.at("settings").is_array() ||
                !json.at("categories").is_array())
                damaged();
            contents.head = json;
        }
    } catch (const nlohmann::json::exception&) {
        damaged();
    } catch (const cv::Exception& error) {
        throw MeasureError(Kind::Input, error.err);
    } catch (const MeasureError& error) {
        if (*error.what() != '\0') throw;
        damaged();
    }
    return contents;
}

/// Images that shard `index` of `count` has.
std::int64_t imagesOf(const Json& head) {
    const std::int64_t index = head.at("shard").at(0), count = head.at("shard").at(1);
    return (head.at("images").get<std::int64_t>() + count - index) / count;
}

}  // namespace

DetectionCountsFile::DetectionCountsFile(const std::string& path, const Json& head) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) {
        m_file = std::make_unique<RowFile>(path, lineOf(head), Access::Umask);
        return;
    }
    DetectorFile contents = detectorFile(path);
    const std::string other = contents.head.is_null() ? "head" : difference(contents.head, head, true);
    if (!other.empty())
        throw MeasureError(Kind::Settings,
                           printable(path) + ": is of another evaluation, its \"" + other +
                               "\" differs; give the same options to continue, or name another file");
    m_counts = std::move(contents.counts);
    m_file = std::make_unique<RowFile>(path, contents.wholeBytes);
}

void DetectionCountsFile::add(const DetectionCounts& counts) {
    m_file->add(lineOf(toJson(counts)));
}

bool areDetectionCounts(const std::string& path) {
    try {
        LineReader file(path, kLongestCounts);
        std::string line;
        return file.next(line) && line.rfind("{\"mpm_detection_counts\":", 0) == 0;
    } catch (const cv::Exception&) {
        return false;
    }
}

DetectionEval joinDetectionCounts(const std::vector<std::string>& paths) {
    DetectionEval whole;
    std::set<int> seen;
    for (const std::string& path : paths) {
        DetectorFile contents = detectorFile(path);
        if (contents.head.is_null())
            throw MeasureError(Kind::Input,
                               printable(path) + ": is empty; name a file of 'mpm eval --counts'");
        if (whole.head.is_null()) whole.head = contents.head;
        std::string other = difference(whole.head, contents.head, false);
        if (other.empty() && whole.head["shard"][1] != contents.head["shard"][1]) other = "shard";
        if (!other.empty())
            throw MeasureError(Kind::Input, printable(path) + ": is of another evaluation than " +
                                                printable(paths.front()) + ", its \"" + other +
                                                "\" differs; join the shards of one evaluation");
        const auto wanted =
            imagesOf(contents.head) * static_cast<std::int64_t>(contents.head["settings"].size());
        if (static_cast<std::int64_t>(contents.counts.size()) != wanted)
            throw MeasureError(Kind::Input, printable(path) + ": is not finished (" +
                                                std::to_string(contents.counts.size()) + " of " +
                                                std::to_string(wanted) +
                                                " lines); run the same command again to continue it");
        if (!seen.insert(contents.head["shard"][0].get<int>()).second)
            throw MeasureError(Kind::Input,
                               printable(path) + ": its shard is there twice; name each shard once");
        std::move(contents.counts.begin(), contents.counts.end(), std::back_inserter(whole.counts));
    }
    const int count = whole.head["shard"][1];
    for (int index = 1; index <= count; ++index)
        if (seen.count(index) == 0)
            throw MeasureError(Kind::Input, "shard " + std::to_string(index) + " of " +
                                                std::to_string(count) + " is missing; name every shard");
    whole.head["shard"] = {1, 1};
    return whole;
}

namespace {

using RowImages =
    std::map<std::int64_t, const DetectionCounts*>;  // sums do not depend on the order of shards

void addScores(const DetectionEval& eval, const RowImages& images, Json& row) {
    std::vector<std::int64_t> ids;
    for (const Json& category : eval.head["categories"])
        ids.push_back(category.at("id"));
    std::vector<CocoMatches> matches;
    for (const auto& [id, one] : images)
        matches.insert(matches.end(), one->matches.begin(), one->matches.end());
    const CocoScores scores = cocoScores(std::move(matches), ids);
    const auto add = [](const CocoFigures& figures, Json& to) {
        for (size_t i = 0; i < figures.size(); ++i)
            to[kCocoFigures[i]] = figures[i];
    };
    add(scores.figures, row["stats"]);
    row["categories"] = Json::array();
    for (const CocoCategoryScores& one : scores.categories) {
        Json category = {{"id", one.id}};
        for (const Json& known : eval.head["categories"])
            if (known["id"] == one.id) category["name"] = known["name"];
        add(one.figures, category);
        row["categories"].push_back(category);
    }
}

void addCost(const RowImages& images, Json& row) {
    std::vector<double> times, tokens;
    double operations = 0, totalMs = 0;
    ReuseCounts reuse;
    for (const auto& [id, one] : images) {
        times.push_back(one->ms);
        totalMs += one->ms;
        operations += one->operations;
        reuse += one->reuse;
        tokens.resize(std::max(tokens.size(), one->tokens.size()));
        for (size_t i = 0; i < one->tokens.size(); ++i)
            tokens[i] += one->tokens[i];
    }
    const auto count = static_cast<double>(std::max<size_t>(1, images.size()));
    for (double& sum : tokens)
        sum /= count;
    row["schedule"] = images.empty() ? Json::array() : Json(images.begin()->second->schedule);
    row["device"] = images.empty() ? "" : images.begin()->second->device;
    row["batch"] = 1;
    row["tokens"] = tokens;
    row["gflops"] = finite(operations / 1e9 / count);
    row["images"] = images.size();
    row["ms"] = times.empty() ? Json(nullptr) : finite(quantile(times, .5));
    row["images_per_second"] = totalMs > 0 ? Json(1000 * double(images.size()) / totalMs) : Json(nullptr);
    if (reuse.forwards > 0)
        row["reuse"] = {{"recomputed", reuse.meanRecomputed()},
                        {"full", reuse.fullShare()},
                        {"suspended", reuse.suspendedShare()}};
}

}  // namespace

Json detectionRows(const DetectionEval& eval) {
    Json rows = Json::array();
    for (size_t index = 0; index < eval.head.at("settings").size(); ++index) {
        RowImages images;
        for (const DetectionCounts& one : eval.counts)
            if (one.row == static_cast<int>(index) && one.leftOut.empty()) images[one.image] = &one;
        Json row = eval.head["settings"][index];
        addCost(images, row);
        addScores(eval, images, row);
        rows.push_back(row);
    }
    return rows;
}

}  // namespace mpm::pipeline
