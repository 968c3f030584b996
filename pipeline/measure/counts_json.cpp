#include "pipeline/measure/counts_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/statistics.hpp"

namespace mpm::pipeline {

namespace {

Json cellsJson(const std::vector<Confusion::Cell>& counted) {
    Json cells = Json::array();
    for (const Confusion::Cell& cell : counted)
        cells.push_back({cell.truth, cell.predicted, cell.count});
    return cells;
}

std::vector<Confusion::Cell> cellsFrom(const Json& json) {
    std::vector<Confusion::Cell> cells;
    for (const Json& cell : json)
        cells.push_back({cell.at(0).get<int>(), cell.at(1).get<int>(), cell.at(2).get<std::int64_t>()});
    return cells;
}

template <class Reuse, class Fields>
void reuseFields(Reuse& reuse, const Fields& field) {
    field("forwards", reuse.forwards);
    field("full", reuse.full);
    field("suspended", reuse.suspended);
    field("recomputed", reuse.recomputed);
}

template <class Image, class Fields>
void imageFields(Image& image, const Fields& field) {
    field("objects_right", image.objects.right);
    field("objects_all", image.objects.all);
    field("tokens", image.windows);
    field("kept", image.kept);
    field("operations", image.operations);
    field("joins", image.joins);
}

Json imageJson(const ImageCounts& image) {
    Json json = {{"band", cellsJson(image.classes.band)}, {"interior", cellsJson(image.classes.interior)}};
    imageFields(image, FieldWriter{json});
    if (image.reuse.forwards > 0) reuseFields(image.reuse, FieldWriter{json["reuse"]});
    if (std::isfinite(image.agreement)) json["agreement"] = image.agreement;
    return json;
}

ImageCounts imageFrom(const Json& json, int classes, int ignored) {
    ImageCounts image;
    image.classes.band = cellsFrom(json.at("band"));
    image.classes.interior = cellsFrom(json.at("interior"));
    image.classes.in(classes, ignored);  // throws if a cell is outside the table of classes
    imageFields(image, FieldReader{json});
    if (json.contains("reuse")) reuseFields(image.reuse, FieldReader{json.at("reuse")});
    if (json.contains("agreement")) FieldReader{json}("agreement", image.agreement);
    return image;
}

template <class Row, class Fields>
void rowFields(Row& row, const Fields& field) {
    field("device", row.device);
    field("precision", row.precision);
    field("schedule", row.schedule);
    field("windows", row.times.images);
    field("ms", row.times.network);
    field("encoder_ms", row.times.encoder);
    field("merge_ms", row.times.merge);
    field("restore_ms", row.times.restore);
}

template <class Part, class Fields>
void groupFields(Part& group, const Fields& field) {
    field("group", group.index);
    field("names", group.names);
    field("left_out", group.leftOut);
}

template <class Head, class Fields>
void runFields(Head& head, const Fields& field) {
    field("mpm", head.mpm);
    field("opencv", head.opencv);
    field("cpu", head.cpu);
    field("cpu_features", head.cpuFeatures);
    field("threads", head.threads);
    field("model", head.model);
}

template <class Head, class Fields>
void headFields(Head& head, const Fields& field) {
    field("model_sha256", head.modelSha256);
    field.at("encoder")("blocks", head.blocks);
    field.at("encoder")("width", head.width);
    field.at("encoder")("heads", head.heads);
    field("dataset", head.dataset);
    field("split", head.split);
    field("pictures", head.images);
    field("pictures_hash", head.imagesHash);
    field("group", head.group);
    field("groups", head.groups);
    field("shard", head.shard);
    field("classes", head.classes);
    field("class_count", head.classCount);
    field("ignored", head.ignored);
    field("band_radius", head.bandRadius);
}

template <class Setting, class Fields>
void settingFields(Setting& setting, const Fields& field) {
    field("method", setting.method);
    field("parameters", setting.parameters);
    field("precision", setting.precision);
    field("batch", setting.batch);
}

}  // namespace

void to_json(Json& json, const Shard& shard) {
    json = {shard.index, shard.count};
}
void from_json(const Json& json, Shard& shard) {
    shard = {json.at(0).get<int>(), json.at(1).get<int>()};
}

void FieldReader::operator()(const char* name, double& value) const {
    const Json& number = json.at(name);
    value = number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>();
}

Json toJson(const Group& group) {
    Json json;
    groupFields(group, FieldWriter{json});
    json["rows"] = Json::array();
    for (const GroupRow& row : group.rows) {
        Json& rowJson = json["rows"].emplace_back();
        rowFields(row, FieldWriter{rowJson});
        rowJson["pictures"] = Json::array();
        for (const ImageCounts& image : row.images)
            rowJson["pictures"].push_back(imageJson(image));
    }
    return json;
}

Group groupFrom(const Json& json, int classes, int ignored) {
    Group group;
    groupFields(group, FieldReader{json});
    for (const Json& row : json.at("rows")) {
        rowFields(group.rows.emplace_back(), FieldReader{row});
        for (const Json& image : row.at("pictures"))
            group.rows.back().images.push_back(imageFrom(image, classes, ignored));
    }
    return group;
}

Json finite(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json reuseJson(const ReuseCounts& reuse) {
    if (reuse.forwards == 0) return nullptr;
    return {{"recomputed", reuse.meanRecomputed()},
            {"full", reuse.fullShare()},
            {"suspended", reuse.suspendedShare()}};
}

Json agreementJson(const std::vector<double>& agreement) {
    if (agreement.empty()) return nullptr;
    return {{"mean", mean(agreement)}, {"worst", *std::min_element(agreement.begin(), agreement.end())}};
}

std::string lineOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// Entries of the head that describe the machine, the path of the model or the shard. Shards of an evaluation
/// may differ in these entries.
static const std::set<std::string> kOfTheMachine = {"cpu", "cpu_features", "threads", "model", "shard"};

std::string difference(const Json& one, const Json& other, bool shardToo) {
    for (const Json* head : {&one, &other})
        for (const auto& [key, value] : head->items()) {
            const bool machine = kOfTheMachine.count(key) > 0 && !(shardToo && key == "shard");
            const Json& counterpart = (head == &one ? other : one).value(key, Json());
            if (!machine && value != counterpart) return key;
        }
    return {};
}

Json toJson(const MeasureHead& head) {
    Json json;
    runFields(head, FieldWriter{json});
    json["size"] = {head.size.height, head.size.width};
    return json;
}

Json toJson(const EvalHead& head) {
    Json json = {{"mpm_counts", 1}};
    json.update(toJson(head.run));
    headFields(head, FieldWriter{json});
    json["schedule"] = head.schedule;
    for (const SettingHead& setting : head.settings) {
        Json& settingJson = json["settings"].emplace_back();
        settingFields(setting, FieldWriter{settingJson});
        settingJson["night"] = setting.night ? Json(*setting.night) : Json(nullptr);
    }
    return json;
}

EvalHead headFrom(const Json& json) {
    EvalHead head;
    runFields(head.run, FieldReader{json});
    head.run.size = {json.at("size").at(1).get<int>(), json.at("size").at(0).get<int>()};
    headFields(head, FieldReader{json});
    if (json.contains("schedule")) head.schedule = json.at("schedule").get<std::vector<int>>();
    for (const Json& setting : json.at("settings")) {
        settingFields(head.settings.emplace_back(), FieldReader{setting});
        const Json& night = setting.at("night");
        if (!night.is_null()) head.settings.back().night = night.get<std::vector<double>>();
    }
    return head;
}

}  // namespace mpm::pipeline
