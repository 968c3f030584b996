#include "pipeline/measure/detector/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.hpp"

namespace mpm::pipeline {

namespace {

void demandLine(bool good) {
    if (!good) CV_Error(cv::Error::StsParseError, "no line of counts");
}

template <class Counts, class Fields>
void countsFields(Counts& counts, const Fields& field) {
    field("row", counts.row);
    field("image", counts.image);
    field("left_out", counts.leftOut);
    field("device", counts.device);
    field("precision", counts.precision);
    field("tokens", counts.tokens);
    field("schedule", counts.schedule);
    field("operations", counts.operations);
    field("ms", counts.ms);
}

template <class Matches, class Fields>
void matchFields(Matches& matches, const Fields& field) {
    field("category", matches.category);
    field("truth", matches.truth);
    field("scores", matches.scores);
    field("matched", matches.matched);
    field("ignored", matches.ignored);
}

DetectionCounts countsFrom(const Json& json) {
    DetectionCounts counts;
    countsFields(counts, FieldReader{json});
    if (json.contains("reuse")) {
        const Json& reuse = json["reuse"];
        counts.reuse = {reuse.at(0).get<int>(), reuse.at(1).get<int>(), reuse.at(2).get<int>(),
                        reuse.at(3).get<double>()};
    }
    for (const Json& entry : json.at("matches")) {
        CocoMatches& one = counts.matches.emplace_back();
        one.image = counts.image;
        matchFields(one, FieldReader{entry});
        demandLine(one.matched.size() == one.scores.size() && one.ignored.size() == one.scores.size() &&
                   one.scores.size() <= CocoMatches::kMost);
    }
    return counts;
}

}  // namespace

Json toJson(const DetectionCounts& counts) {
    Json json;
    countsFields(counts, FieldWriter{json});
    json["matches"] = Json::array();
    if (counts.reuse.forwards > 0)
        json["reuse"] = {counts.reuse.forwards, counts.reuse.full, counts.reuse.suspended,
                         counts.reuse.recomputed};
    for (const CocoMatches& one : counts.matches)
        matchFields(one, FieldWriter{json["matches"].emplace_back()});
    return json;
}

CountsFormat detectionsInto(DetectionEval& eval) {
    return {kDetectionCounts,
            [&](const Json& head) {
                demandLine(head.at("images").get<std::int64_t>() >= 0 && head.at("settings").is_array() &&
                           head.at("categories").is_array());
                for (const Json& one : head.at("categories"))
                    demandLine(one.at("id").is_number_integer() && one.at("name").is_string());
                eval.head = head;
                return head.at("shard").get<Shard>().of(head.at("images").get<size_t>()) *
                       head.at("settings").size();
            },
            [&](const Json& row) {
                eval.counts.push_back(countsFrom(row));
                const int number = eval.counts.back().row;
                demandLine(number >= 0 && number < static_cast<int>(eval.head["settings"].size()));
            }};
}

DetectionEval joinDetectionCounts(const std::vector<std::string>& paths) {
    DetectionEval whole;
    whole.head = joinShards(paths, detectionsInto(whole));
    return whole;
}

namespace {

using RowImages =
    std::map<std::int64_t, const DetectionCounts*>;  // by image id, so the order of shards has no effect

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
            if (known.at("id") == one.id) category["name"] = known.at("name");
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
    if (!images.empty()) row["precision"] = images.begin()->second->precision;
    row["batch"] = 1;
    row["tokens"] = tokens;
    row["gflops"] = finite(operations / 1e9 / count);
    row["images"] = images.size();
    row["ms"] = times.empty() ? Json(nullptr) : finite(quantile(times, .5));
    row["images_per_second"] = totalMs > 0 ? Json(1000 * double(images.size()) / totalMs) : Json(nullptr);
    if (reuse.forwards > 0) row["reuse"] = reuseJson(reuse);
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
