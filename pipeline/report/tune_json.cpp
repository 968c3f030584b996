#include "pipeline/report/report.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::pipeline {

namespace {

Json orNull(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json rowJson(const ModelTuning& tuning, size_t index) {
    const TuneResult& result = tuning.result;
    const TuneRow& row = result.rows[index];
    return {{"method", row.method.shortName()},
            {"parameters", row.method.name},
            {"schedule", row.method.blocks.value_or(std::vector<int>())},
            {"device", deviceName(tuning.device)},
            {"precision", precisionName(tuning.precision)},
            {"batch", 1},
            {"images", row.images()},
            {"tokens", row.meanTokens()},
            {"tokens_kept", finite(mean(row.kept))},
            {"ms", {{"median", finite(result.ms(row))}}},
            {"speed", finite(row.speed())},
            {"agreement", {{"mean", finite(row.agreement())}, {"worst_tenth", finite(row.worst())}}},
            {"unbeaten", std::count(result.front.begin(), result.front.end(), index) > 0},
            {"chosen", result.best == index}};
}

}  // namespace

Json tuneJson(const MeasureHead& head, const ModelTuning& tuning, const TuneGoal& goal) {
    Json report = toJson(head);
    report["goal"] = {{"keep", orNull(goal.keep)}, {"faster", orNull(goal.faster)}};
    report["agreement"] = textOf(tuning.kind).name;
    report["images"] = tuning.images;
    report["ms_all_tokens"] = finite(tuning.result.fullMs);
    report["complete"] = tuning.result.complete;
    report["reached"] = tuning.result.best.has_value();
    report["results"] = Json::array();
    for (size_t i = 0; i < tuning.result.rows.size(); ++i)
        if (tuning.result.rows[i].images() > 0) report["results"].push_back(rowJson(tuning, i));
    return report;
}

}  // namespace mpm::pipeline
