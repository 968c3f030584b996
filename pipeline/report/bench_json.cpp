#include "pipeline/report/report.hpp"

#include "pipeline/segment/names.hpp"

namespace mpm::pipeline {

namespace {

Json paddedJson(const BenchRow& row) {
    if (row.padded.empty()) return nullptr;
    return {{"ms", row.paddedMs()}, {"rows", row.paddedRows()}};
}

Json partsJson(const BenchRow& row) {
    if (row.parts.empty()) return nullptr;
    Json parts = Json::array();
    for (const PartTimes& part : row.parts)
        parts.push_back({{"part", part.name}, {"ms", part.ms()}, {"mean_ms", part.meanMs()}});
    return parts;
}

}  // namespace

Json toJson(const BenchRow& row) {
    return {{"method", row.method.shortName()},
            {"parameters", row.method.text},
            {"schedule", row.tokens.schedule()},
            {"device", deviceName(row.device)},
            {"precision", precisionName(row.precision)},
            {"batch", row.batch},
            {"tokens", row.tokens.means()},
            {"tokens_kept",
             {{"least", row.keptQuantile(0)}, {"mean", mean(row.kept)}, {"most", row.keptQuantile(1)}}},
            {"gflops", finite(row.gflops())},
            {"gflops_deviation", finite(row.gflopsDeviation())},
            {"gflops_by_block", row.blockGflops()},
            {"ms", {{"median", row.ms(0.5)}, {"p10", row.ms(0.1)}, {"p90", row.ms(0.9)}}},
            {"mean_ms", row.meanMs()},
            {"reuse", reuseJson(row.reuse)},
            {"agreement", agreementJson(row.agreement)},
            {"encoder_ms", row.encoderMs()},
            {"merge_ms", row.mergeMs()},
            {"restore_ms", row.restoreMs()},
            {"parts", partsJson(row)},
            {"padded", paddedJson(row)},
            {"images_per_second", row.imagesPerSecond().perSecond},
            {"stderr", finite(row.imagesPerSecond().standardError)},
            {"rounds", row.forwards.size()},
            {"ms_per_round", row.forwards}};
}

Json benchJson(const MeasureHead& head, const std::vector<BenchRow>& rows) {
    Json report = toJson(head);
    for (const BenchRow& row : rows)
        report["results"].push_back(toJson(row));
    return report;
}

}  // namespace mpm::pipeline
