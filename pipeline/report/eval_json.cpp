#include "pipeline/report/report.hpp"

#include "pipeline/measure/eval_summary.hpp"

namespace mpm::pipeline {

namespace {

Json joinsJson(const EvalRow& row) {
    Json joins = Json::array();
    for (size_t stage = 0; stage < row.joins.size(); ++stage)
        joins.push_back({{"block", stage < row.schedule.size() ? Json(row.schedule[stage]) : Json(nullptr)},
                         {"by_distance", row.joins[stage]}});
    return joins;
}

Json list(const std::vector<double>& values) {
    Json json = Json::array();
    for (double value : values)
        json.push_back(finite(value));
    return json;
}

Json confusionJson(const Confusion& confusion) {
    Json rows = Json::array();
    for (int truth = 0; truth < confusion.classes(); ++truth) {
        Json row = Json::array();
        for (int predicted = 0; predicted <= confusion.classes(); ++predicted)
            row.push_back(confusion.at(truth, predicted));
        rows.push_back(row);
    }
    return rows;
}

Json scores(const Confusion& confusion) {
    return {{"miou", finite(confusion.miou())},
            {"macc", finite(confusion.macc())},
            {"aacc", finite(confusion.aacc())},
            {"pixels", confusion.pixels()}};
}

Json regionsJson(const EvalRow& row) {
    return {{"boundary", scores(row.classes.band)},
            {"interior", scores(row.classes.interior)},
            {"small_objects", finite(row.objects.recall(0))},
            {"medium_objects", finite(row.objects.recall(1))},
            {"large_objects", finite(row.objects.recall(2))}};
}

Json toJson(const EvalSummary& summary, const EvalRow& row) {
    Json json = {{"method", row.method},
                 {"parameters", row.text},
                 {"schedule", row.schedule},
                 {"device", row.device},
                 {"precision", row.precision},
                 {"batch", row.batch},
                 {"night", row.night ? Json(*row.night) : Json(nullptr)},
                 {"tokens", row.tokens},
                 {"tokens_kept", finite(row.tokensKept())},
                 {"gflops", finite(row.gflops())},
                 {"gflops_deviation", finite(row.gflopsDeviation())},
                 {"miou", finite(row.whole.miou())},
                 {"loss", finite(summary.loss(row))},
                 {"macc", finite(row.whole.macc())},
                 {"aacc", finite(row.whole.aacc())},
                 {"iou", list(row.whole.iou())},
                 {"accuracy", list(row.whole.accuracy())},
                 {"images", row.images()},
                 {"reuse", reuseJson(row.reuse)},
                 {"agreement", agreementJson(row.agreement)},
                 {"images_per_second", finite(row.imagesPerSecond().perSecond)},
                 {"stderr", finite(row.imagesPerSecond().standardError)},
                 {"windows_per_second", finite(row.windowsPerSecond)},
                 {"ms", row.ms},
                 {"mean_ms", row.meanMs},
                 {"encoder_ms", row.encoderMs},
                 {"merge_ms", row.mergeMs},
                 {"restore_ms", row.restoreMs},
                 {"regions", regionsJson(row)},
                 {"joins", joinsJson(row)},
                 {"confusion", confusionJson(row.whole)},
                 {"per_picture",
                  {{"miou", list(row.imageMiou)},
                   {"aacc", list(row.imageAacc)},
                   {"tokens_entering", row.entering},
                   {"tokens_kept", row.kept},
                   {"operations", list(row.operations)}}}};
    if (const auto paper = publishedFor(summary.head, row))
        json["paper"] = {
            {"miou", paper->miou / 100}, {"gflops", paper->gflops}, {"images_per_second", paper->fps}};
    return json;
}

Json pairsJson(const EvalSummary& summary) {
    Json json = Json::array();
    for (const DayNightPair& pair : pairsOf(summary))
        json.push_back({{"parameters", pair.day->text},
                        {"precision", pair.day->precision},
                        {"batch", pair.day->batch},
                        {"night", *pair.night->night},
                        {"miou_day", finite(pair.day->whole.miou())},
                        {"miou_night", finite(pair.night->whole.miou())},
                        {"merged_change", finite(pair.change)},
                        {"merged_change_stderr", finite(pair.standardError)}});
    return json;
}

}  // namespace

Json evalJson(const EvalSummary& summary) {
    const Json head = toJson(summary.head);
    Json report;
    for (const char* key : {"mpm", "opencv", "cpu", "cpu_features", "threads", "model", "model_sha256",
                            "size", "encoder", "dataset", "split", "classes", "band_radius"})
        report[key] = head.at(key);
    if (summary.head.shard.count != 1) report["shard"] = head.at("shard");
    // If all rows have the same night, the head also has this night.
    if (!summary.severalLights && summary.rows.front().night) report["night"] = *summary.rows.front().night;
    report["pictures"] = summary.names;
    report["left_out"] = summary.leftOut;
    const Json pairs = pairsJson(summary);
    if (!pairs.empty()) report["day_and_night"] = pairs;
    for (const EvalRow& row : summary.rows)
        report["results"].push_back(toJson(summary, row));
    return report;
}

}  // namespace mpm::pipeline
