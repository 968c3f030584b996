// The classes mpm.Model and mpm.Result.
#include <algorithm>
#include <new>
#include <stdexcept>

#include <mpm/precisions.hpp>
#include <mpm/read_net.hpp>

#include "pipeline/objects/frame_objects.hpp"
#include "pipeline/segment/names.hpp"
#include "python/src/border.hpp"
#include "python/src/segmenter.hpp"

using namespace mpm::python;

struct mpm_model {
    Segmenter segmenter;
};

struct mpm_result {
    Result result;
};

struct mpm_tracker {
    std::optional<mpm::pipeline::ObjectTracker> tracker;
};

namespace mpm::python {

namespace {

constexpr const char* kBlocks = "block numbers such as (2, 5), or text such as '2,5' or 'none'";

int blockFrom(const std::string& text, const std::string& whole) {
    const bool digits = !text.empty() && text.size() < 8 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) throw WrongValue(std::string("blocks: expected ") + kBlocks + ", got '" + whole + "'");
    return std::stoi(text);
}

std::vector<int> blocksFrom(const std::string& text) {
    if (text == "none") return {};
    std::vector<int> blocks;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        blocks.push_back(blockFrom(text.substr(at, end - at), text));
        at = end + 1;
    }
    return blocks;
}

void setBlocks(Segmenter& model, const std::string& value) {
    const std::vector<int> blocks = blocksFrom(value);
    model.with([&](pipeline::Network& network) { network.encoder().setSchedule(blocks); });
}

void setMethod(Segmenter& model, const std::string& value) {
    model.with([&](pipeline::Network& network) {
        try {
            network.encoder().setMethod(value);
        } catch (const cv::Exception& error) {
            throw WrongValue("method: " + error.err);
        }
    });
}

void setPrecision(Segmenter& model, const std::string& name) {
    const std::optional<Precision> precision = pipeline::precisionFrom(name);
    if (!precision) throw WrongValue("precision: expected " + precisionNames() + ", got '" + name + "'");
    model.with([&](pipeline::Network& network) {
        network.encoder().setPrecision(*precision);
        model.precision = name;
    });
}

void setDevice(Segmenter& model, const std::string& name) {
    const bool cuda = name.rfind("cuda", 0) == 0;
    const std::string number = name.size() > 5 && name[4] == ':' ? name.substr(5) : "";
    const bool numbered = cuda && !number.empty() && number.size() < 4 &&
                          number.find_first_not_of("0123456789") == std::string::npos;
    if (name != "cpu" && name != "auto" && name != "cuda" && !numbered)
        throw WrongValue("device: expected cpu, cuda, cuda:N or auto, got '" + name + "'");
    const Device device = cuda ? Device::Cuda : name == "cpu" ? Device::Cpu : Device::Auto;
    model.with([&](pipeline::Network& network) {
        network.encoder().setDevice(device, numbered ? std::stoi(number) : 0);
        model.device = name;
    });
}

void setReuse(Segmenter& model, const std::string& text) {
    model.with([&](pipeline::Network& network) {
        network.encoder().setReuse(mpm::reuseFrom(text, network.reuse()));
        model.reuse = text;
    });
}

double shareFrom(const std::string& text, const std::string& name) {
    const Json value = Json::parse(text, nullptr, false);
    const double share = value.is_number() ? value.get<double>() : -1;
    if (!(share >= 0 && share <= 1)) throw WrongValue(name + ": expected 0 to 1, got " + text);
    return share;
}

void setShare(Segmenter& model, const std::string& name, const std::string& value) {
    const double share = shareFrom(value, name);
    model.with([&](pipeline::Network&) { (name == "nms" ? model.nms : model.threshold) = share; });
}

void setObjects(Segmenter& model, const std::string& value) {
    const auto names = Json::parse(value).get<std::vector<std::string>>();
    try {
        pipeline::classesNamed(model.info().labels, names);
    } catch (const std::invalid_argument& error) {
        throw WrongValue("objects: " + std::string(error.what()));
    }
    model.with([&](pipeline::Network&) { model.objects = names; });
}

Json factsOf(Segmenter& segmenter) {
    const mpm::ModelInfo& info = segmenter.info();
    return segmenter.with([&](pipeline::Network& network) {
        return Json{{"blocks", network.encoder().schedule()},
                    {"method", network.encoder().method()},
                    {"threshold", segmenter.threshold},
                    {"nms", segmenter.nms},
                    {"objects", segmenter.objects},
                    {"precision", segmenter.precision},
                    {"device", segmenter.device},
                    {"reuse", segmenter.reuse},
                    {"path", segmenter.path()},
                    {"size", {info.size.height, info.size.width}},
                    {"classes", info.labels},
                    {"detector", info.detections.has_value()},
                    {"batch", segmenter.batch()}};
    });
}

Json timesOf(const ResultTimes& t) {
    return {{"prepare", t.prepare}, {"network", t.network}, {"labels", t.labels},
            {"encoder", t.encoder}, {"merge", t.merge},     {"restore", t.restore}};
}

Json paletteOf(const std::vector<cv::Vec3b>& palette) {
    Json colours = Json::array();
    for (const cv::Vec3b& c : palette)
        colours.push_back({c[0], c[1], c[2]});
    return colours;
}

cv::Mat matrixNamed(const Result& result, const std::string& name) {
    if (name == "labels") return result.objects ? result.objects->ids : result.labels;
    if (name == "boxes" && result.objects) return result.objects->boxes;
    if (name == "scores" && result.objects) return result.objects->scores;
    if (name == "features") return result.features;
    if (name == "map") return result.tokens.map;
    return {};
}

Json namesOf(const Result& result) {
    Json names = Json::array();
    for (const Detection& one : result.objects->found)
        names.push_back(pipeline::className(result.classes, one.label));
    return names;
}

void give(std::vector<Result> found, mpm_result** results) {
    std::vector<std::unique_ptr<mpm_result>> kept;
    for (Result& result : found)
        kept.push_back(std::make_unique<mpm_result>(mpm_result{std::move(result)}));
    for (size_t i = 0; i < kept.size(); ++i)
        results[i] = kept[i].release();
}

std::vector<std::string> namesOf(const char* const* streams, int count) {
    if (!streams) return {};
    return {streams, streams + count};
}

int give(const cv::Mat& matrix, mpm_array* array) {
    if (matrix.empty() && matrix.dims < 2) return 0;
    return guarded(nullptr, [&] { *array = arrayOf(matrix); }) == MPM_OK ? 1 : 0;
}

}  // namespace

}  // namespace mpm::python

int mpm_model_open(const char* path, int rows, int columns, mpm_model** model, char** error) {
    return guarded(error, [&] { *model = new mpm_model{{path, cv::Size(columns, rows)}}; });
}

void mpm_model_free(mpm_model* model) {
    delete model;
}

int mpm_model_describe(mpm_model* model, char** facts, char** error) {
    return guarded(error, [&] { *facts = jsonText(factsOf(model->segmenter)); });
}

int mpm_model_set(mpm_model* model, const char* setting, const char* value, char** error) {
    return guarded(error, [&] {
        const std::string name = setting;
        if (name == "blocks") setBlocks(model->segmenter, value);
        if (name == "method") setMethod(model->segmenter, value);
        if (name == "threshold" || name == "nms") setShare(model->segmenter, name, value);
        if (name == "objects") setObjects(model->segmenter, value);
        if (name == "precision") setPrecision(model->segmenter, value);
        if (name == "device") setDevice(model->segmenter, value);
        if (name == "reuse") setReuse(model->segmenter, value);
    });
}

int mpm_model_forget(mpm_model* model, const char* stream, char** error) {
    return guarded(error, [&] {
        if (stream)
            model->segmenter.forget(stream);
        else
            model->segmenter.with([](mpm::pipeline::Network& network) { network.encoder().forget(); });
    });
}

int mpm_model_run(mpm_model* model, const mpm_array* images, const char* const* streams, int count,
                  mpm_result** results, char** error) {
    return guarded(error, [&] {
        give(model->segmenter.run(imagesOf(images, count), namesOf(streams, count)), results);
    });
}

mpm_tracker* mpm_tracker_new(void) {
    return new (std::nothrow) mpm_tracker;
}

void mpm_tracker_free(mpm_tracker* tracker) {
    delete tracker;
}

int mpm_model_track(mpm_model* model, const mpm_array* images, const char* const* streams,
                    mpm_tracker* const* trackers, const double* seconds, int count, mpm_result** results,
                    char** error) {
    return guarded(error, [&] {
        std::vector<Follow> follow;
        for (int i = 0; i < count; ++i)
            follow.push_back({&trackers[i]->tracker, seconds[i]});
        give(model->segmenter.run(imagesOf(images, count), namesOf(streams, count), follow), results);
    });
}

char* mpm_result_tracks(const mpm_result* result) {
    const Result& r = result->result;
    if (!r.tracks) return nullptr;
    nlohmann::ordered_json tracks = nlohmann::ordered_json::array();
    for (const mpm::pipeline::TrackedObject& one : *r.tracks) {
        tracks.push_back(mpm::pipeline::trackJson(one, r.classes));
        auto& path = tracks.back()["path"] = nlohmann::ordered_json::array();
        for (const cv::Point2f& point : one.path)
            path.push_back({point.x, point.y});
    }
    return jsonText(tracks);
}

void mpm_result_free(mpm_result* result) {
    delete result;
}

char* mpm_result_describe(const mpm_result* result) {
    const Result& r = result->result;
    Json facts = {{"tokens", r.tokens.tokens},
                  {"grid", {r.grid.height, r.grid.width}},
                  {"recomputed", r.tokens.reuse.recomputed},
                  {"times", timesOf(r.times)},
                  {"device", r.device},
                  {"precision", r.precision},
                  {"classes", r.classes},
                  {"palette", paletteOf(r.palette)}};
    if (r.objects) facts["detector"] = {{"names", namesOf(r)}, {"masks", r.objects->masks}};
    return jsonText(facts);
}

int mpm_result_array(const mpm_result* result, const char* name, mpm_array* array) {
    return give(matrixNamed(result->result, name), array);
}

int mpm_result_mask(const mpm_result* result, int object, mpm_array* array) {
    const std::optional<Objects>& objects = result->result.objects;
    if (!objects || object < 0 || object >= static_cast<int>(objects->found.size())) return 0;
    return give(objects->found[static_cast<size_t>(object)].mask, array);
}

int mpm_result_overlay(const mpm_result* result, const mpm_array* image, mpm_buffer** drawn, char** error) {
    return guarded(error, [&] { *drawn = bufferOf(result->result.overlay(imagesOf(image, 1).front())); });
}
