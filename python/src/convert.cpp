// The functions mpm.convert and mpm.info.
#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "pipeline/dataset/classes.hpp"
#include "python/src/border.hpp"

namespace mpm::python {

namespace {

std::optional<cv::Scalar> scalarFrom(const Json& options, const char* name) {
    if (options.at(name).is_null()) return std::nullopt;
    const auto values = options.at(name).get<std::vector<double>>();
    if (values.size() != 3) throw WrongValue(std::string(name) + ": expected three numbers");
    return cv::Scalar(values[0], values[1], values[2]);
}

bool isSecond(const Json& options, const char* name, const char* first, const char* second) {
    const std::string value = options.at(name).get<std::string>();
    if (value != first && value != second)
        throw WrongValue(std::string(name) + ": expected '" + first + "' or '" + second + "', got '" + value +
                         "'");
    return value == second;
}

models::ConvertOptions optionsFrom(const Json& given) {
    models::ConvertOptions options;
    if (!given.at("blocks").is_null()) options.blocks = given.at("blocks").get<std::vector<int>>();
    if (!given.at("method").is_null()) options.method = given.at("method").get<std::string>();
    options.form = isSecond(given, "form", "fused", "layers") ? models::Form::Layers : models::Form::Fused;
    if (!given.at("size").is_null()) options.size = {given.at("size").at(1), given.at("size").at(0)};
    options.batch = given.at("batch").get<int>();
    options.labels = isSecond(given, "head", "logits", "labels");
    options.mean = scalarFrom(given, "mean"), options.deviation = scalarFrom(given, "std");
    return options;
}

void addClasses(models::ConvertOptions& options, const std::string& file) {
    if (file.empty()) return;
    const pipeline::Classes classes = pipeline::readClasses(file, false);
    options.classes = classes.names;
    options.palette = classes.palette;
    options.allClasses = true;
}

Json threeOf(const cv::Scalar& values) {
    return {values[0], values[1], values[2]};
}

}  // namespace

}  // namespace mpm::python

using namespace mpm::python;

int mpm_convert(const char* input, const char* output, const char* options, char** report, char** error) {
    return guarded(error, [&] {
        const Json given = Json::parse(options);
        mpm::models::ConvertOptions chosen = optionsFrom(given);
        addClasses(chosen, given.at("labels").get<std::string>());
        const mpm::models::Conversion done = mpm::models::convertModel(input, output, chosen);
        *report = jsonText({{"blocks", done.schedule},
                            {"method", done.method},
                            {"error", done.error},
                            {"notes", done.notes},
                            {"text", mpm::models::describe(done)}});
    });
}

int mpm_model_info(const char* path, char** report, char** error) {
    return guarded(error, [&] {
        const mpm::ModelInfo info = mpm::modelInfo(path);
        Json palette = Json::array();
        for (const cv::Vec3b& c : info.palette)
            palette.push_back({c[0], c[1], c[2]});
        *report = jsonText({{"labels", info.labels},
                            {"palette", palette},
                            {"size", {info.size.height, info.size.width}},
                            {"mean", threeOf(info.mean)},
                            {"std", threeOf(info.std)},
                            {"blocks", info.schedule}});
    });
}
