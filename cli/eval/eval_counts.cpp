#include "cli/eval/eval_counts.hpp"

#include <limits>

namespace mpm::cli {

namespace {

Json cellsJson(const pipeline::Confusion& confusion) {
    Json cells = Json::array();
    for (const pipeline::Confusion::Cell& cell : confusion.cells())
        cells.push_back({cell.truth, cell.predicted, cell.count});
    return cells;
}

void addCells(const Json& cells, pipeline::Confusion& confusion) {
    for (const Json& cell : cells)
        confusion.add({cell.at(0).get<int>(), cell.at(1).get<int>(), cell.at(2).get<std::int64_t>()});
}

Json pictureJson(const PictureCounts& picture) {
    return {{"band", cellsJson(picture.classes.band)},
            {"interior", cellsJson(picture.classes.interior)},
            {"objects_right", picture.objects.right},
            {"objects_all", picture.objects.all},
            {"tokens", picture.windows},
            {"kept", picture.kept},
            {"operations", finite(picture.operations)},
            {"joins", picture.joins}};
}

PictureCounts pictureFrom(const Json& json, int classes, int ignored) {
    PictureCounts picture{pipeline::SplitConfusion(classes, ignored), {}, {}, 0, 0, {}};
    addCells(json.at("band"), picture.classes.band);
    addCells(json.at("interior"), picture.classes.interior);
    json.at("objects_right").get_to(picture.objects.right);
    json.at("objects_all").get_to(picture.objects.all);
    json.at("tokens").get_to(picture.windows);
    json.at("kept").get_to(picture.kept);
    const Json& operations = json.at("operations");
    picture.operations =
        operations.is_null() ? std::numeric_limits<double>::quiet_NaN() : operations.get<double>();
    json.at("joins").get_to(picture.joins);
    return picture;
}

Json rowJson(const GroupRow& row) {
    Json pictures = Json::array();
    for (const PictureCounts& picture : row.pictures)
        pictures.push_back(pictureJson(picture));
    return {
        {"device", row.device},        {"precision", row.precision},      {"schedule", row.schedule},
        {"windows", row.times.images}, {"ms", row.times.network},         {"encoder_ms", row.times.encoder},
        {"merge_ms", row.times.merge}, {"restore_ms", row.times.restore}, {"pictures", pictures}};
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
    for (const Json& picture : json.at("pictures"))
        row.pictures.push_back(pictureFrom(picture, classes, ignored));
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

Json toJson(const Setting& setting) {
    Json night = nullptr;
    if (setting.night) night = {setting.night->luminance, setting.night->photons, setting.night->deviation};
    return {{"method", setting.method.shortName()},
            {"parameters", setting.method.text},
            {"precision", precisionName(setting.precision)},
            {"batch", setting.batch},
            {"night", night}};
}

}  // namespace mpm::cli
