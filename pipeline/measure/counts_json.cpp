#include "pipeline/measure/counts_json.hpp"

#include <cmath>
#include <limits>
#include <set>

namespace mpm::pipeline {

namespace {

Json cellsJson(const Confusion& confusion) {
    Json cells = Json::array();
    for (const Confusion::Cell& cell : confusion.cells())
        cells.push_back({cell.truth, cell.predicted, cell.count});
    return cells;
}

void addCells(const Json& cells, Confusion& confusion) {
    for (const Json& cell : cells)
        confusion.add({cell.at(0).get<int>(), cell.at(1).get<int>(), cell.at(2).get<std::int64_t>()});
}

Json reuseJson(const ReuseCounts& reuse) {
    return {{"forwards", reuse.forwards},
            {"full", reuse.full},
            {"suspended", reuse.suspended},
            {"recomputed", reuse.recomputed}};
}

ReuseCounts reuseFrom(const Json& json) {
    ReuseCounts reuse;
    json.at("forwards").get_to(reuse.forwards);
    json.at("full").get_to(reuse.full);
    json.at("suspended").get_to(reuse.suspended);
    json.at("recomputed").get_to(reuse.recomputed);
    return reuse;
}

double numberFrom(const Json& json) {
    return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json imageJson(const ImageCounts& image) {
    Json json = {{"band", cellsJson(image.classes.band)},
                 {"interior", cellsJson(image.classes.interior)},
                 {"objects_right", image.objects.right},
                 {"objects_all", image.objects.all},
                 {"tokens", image.windows},
                 {"kept", image.kept},
                 {"operations", finite(image.operations)},
                 {"joins", image.joins}};
    if (image.reuse.forwards > 0) json["reuse"] = reuseJson(image.reuse);
    if (std::isfinite(image.agreement)) json["agreement"] = image.agreement;
    return json;
}

ImageCounts imageFrom(const Json& json, int classes, int ignored) {
    ImageCounts image{SplitConfusion(classes, ignored), {}, {}, 0, 0, {}, {}};
    addCells(json.at("band"), image.classes.band);
    addCells(json.at("interior"), image.classes.interior);
    json.at("objects_right").get_to(image.objects.right);
    json.at("objects_all").get_to(image.objects.all);
    json.at("tokens").get_to(image.windows);
    json.at("kept").get_to(image.kept);
    image.operations = numberFrom(json.at("operations"));
    json.at("joins").get_to(image.joins);
    if (json.contains("reuse")) image.reuse = reuseFrom(json.at("reuse"));
    image.agreement = numberFrom(json.value("agreement", Json()));
    return image;
}

Json rowJson(const GroupRow& row) {
    Json images = Json::array();
    for (const ImageCounts& image : row.images)
        images.push_back(imageJson(image));
    return {
        {"device", row.device},        {"precision", row.precision},      {"schedule", row.schedule},
        {"windows", row.times.images}, {"ms", row.times.network},         {"encoder_ms", row.times.encoder},
        {"merge_ms", row.times.merge}, {"restore_ms", row.times.restore}, {"pictures", images}};
}

GroupRow rowFrom(const Json& json, int classes, int ignored) {
    GroupRow row;
    json.at("device").get_to(row.device);
    json.at("precision").get_to(row.precision);
    json.at("schedule").get_to(row.schedule);
    json.at("windows").get_to(row.times.images);
    json.at("ms").get_to(row.times.network);
    json.at("encoder_ms").get_to(row.times.encoder);
    json.at("merge_ms").get_to(row.times.merge);
    json.at("restore_ms").get_to(row.times.restore);
    for (const Json& image : json.at("pictures"))
        row.images.push_back(imageFrom(image, classes, ignored));
    return row;
}

}  // namespace

Json toJson(const Group& group) {
    Json rows = Json::array();
    for (const GroupRow& row : group.rows)
        rows.push_back(rowJson(row));
    return {{"group", group.index}, {"names", group.names}, {"left_out", group.leftOut}, {"rows", rows}};
}

Group groupFrom(const Json& json, int classes, int ignored) {
    Group group;
    json.at("group").get_to(group.index);
    json.at("names").get_to(group.names);
    json.at("left_out").get_to(group.leftOut);
    for (const Json& row : json.at("rows"))
        group.rows.push_back(rowFrom(row, classes, ignored));
    return group;
}

Json finite(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::string lineOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// Entries of the head that belong to the machine, not to the evaluation.
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
    return {{"mpm", head.mpm},
            {"opencv", head.opencv},
            {"cpu", head.cpu},
            {"cpu_features", head.cpuFeatures},
            {"threads", head.threads},
            {"model", head.model},
            {"size", {head.size.height, head.size.width}}};
}

Json toJson(const EvalHead& head) {
    Json json = {{"mpm_counts", 1}};
    json.update(toJson(head.run));
    json["model_sha256"] = head.modelSha256;
    json["encoder"] = {{"blocks", head.blocks}, {"width", head.width}, {"heads", head.heads}};
    json["dataset"] = head.dataset;
    json["split"] = head.split;
    json["pictures"] = head.images;
    json["pictures_hash"] = head.imagesHash;
    json["group"] = head.group;
    json["groups"] = head.groups;
    json["shard"] = {head.shard.index, head.shard.count};
    json["classes"] = head.classes;
    json["class_count"] = head.classCount;
    json["ignored"] = head.ignored;
    json["band_radius"] = head.bandRadius;
    for (const SettingHead& setting : head.settings)
        json["settings"].push_back({{"method", setting.method},
                                    {"parameters", setting.parameters},
                                    {"precision", setting.precision},
                                    {"batch", setting.batch},
                                    {"night", setting.night ? Json(*setting.night) : Json(nullptr)}});
    return json;
}

EvalHead headFrom(const Json& json) {
    EvalHead head;
    json.at("mpm").get_to(head.run.mpm);
    json.at("opencv").get_to(head.run.opencv);
    json.at("cpu").get_to(head.run.cpu);
    json.at("cpu_features").get_to(head.run.cpuFeatures);
    json.at("threads").get_to(head.run.threads);
    json.at("model").get_to(head.run.model);
    head.run.size = {json.at("size").at(1).get<int>(), json.at("size").at(0).get<int>()};
    json.at("model_sha256").get_to(head.modelSha256);
    json.at("encoder").at("blocks").get_to(head.blocks);
    json.at("encoder").at("width").get_to(head.width);
    json.at("encoder").at("heads").get_to(head.heads);
    json.at("dataset").get_to(head.dataset);
    json.at("split").get_to(head.split);
    json.at("pictures").get_to(head.images);
    json.at("pictures_hash").get_to(head.imagesHash);
    json.at("group").get_to(head.group);
    json.at("groups").get_to(head.groups);
    head.shard = {json.at("shard").at(0).get<int>(), json.at("shard").at(1).get<int>()};
    json.at("classes").get_to(head.classes);
    json.at("class_count").get_to(head.classCount);
    json.at("ignored").get_to(head.ignored);
    json.at("band_radius").get_to(head.bandRadius);
    for (const Json& setting : json.at("settings")) {
        head.settings.push_back({setting.at("method"), setting.at("parameters"), setting.at("precision"),
                                 setting.at("batch"), std::nullopt});
        const Json& night = setting.at("night");
        if (!night.is_null()) head.settings.back().night = night.get<std::vector<double>>();
    }
    return head;
}

}  // namespace mpm::pipeline
