// What a model file says of itself, and the preprocessing that follows from it.
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/model/onnx_metadata.hpp"

namespace mpm {
namespace {

using nlohmann::json;

cv::Scalar toScalar(const json& value) {
    return {value.at(0), value.at(1), value.at(2)};
}

void readProperty(const std::string& key, const json& value, ModelInfo& info) {
    if (key == "mpm.labels") info.labels = value.get<std::vector<std::string>>();
    if (key == "mpm.size") info.size = cv::Size(value.at(1), value.at(0));
    if (key == "mpm.mean") info.mean = toScalar(value);
    if (key == "mpm.std") info.std = toScalar(value);
    if (key == "mpm.schedule") info.schedule = value.get<std::vector<int>>();
    if (key == "mpm.source_sha256") info.sourceSha256 = value.get<std::string>();
    if (key == "mpm.palette") {
        for (const json& colour : value) {
            info.palette.emplace_back(colour.at(0).get<uchar>(), colour.at(1).get<uchar>(),
                                      colour.at(2).get<uchar>());
        }
    }
}

}  // namespace

ModelInfo modelInfo(const std::string& path) {
    const OnnxMetadata metadata = readOnnxMetadata(path);
    ModelInfo info;
    if (metadata.inputShape.size() == 4) info.size = cv::Size(metadata.inputShape[3], metadata.inputShape[2]);
    for (const auto& [key, text] : metadata.properties) {
        if (key.rfind("mpm.", 0) != 0) continue;
        try {
            readProperty(key, json::parse(text), info);
        } catch (const json::exception&) {
            CV_Error(cv::Error::StsParseError, "mpm: metadata " + key + " of " + path +
                                                   " is not what it should be: " + text.substr(0, 80));
        }
    }
    for (int c = 0; c < 3; ++c) {
        if (!(info.std[c] > 0))
            CV_Error(cv::Error::StsOutOfRange, "mpm: metadata mpm.std of " + path + " must be positive");
    }
    return info;
}

cv::Mat blobFromImage(const cv::Mat& picture, const ModelInfo& info) {
    if (picture.empty() || picture.dims != 2 || picture.type() != CV_8UC3) {
        CV_Error(cv::Error::StsBadArg, "mpm: picture must be 8-bit BGR (CV_8UC3) and not empty");
    }
    if (info.size.empty())
        CV_Error(cv::Error::StsBadArg, "mpm: info.size is empty; set the size the network should see");
    cv::Mat stretched;
    cv::resize(picture, stretched, info.size, 0, 0, cv::INTER_LINEAR);
    const int sizes[] = {1, 3, info.size.height, info.size.width};
    cv::Mat blob(4, sizes, CV_32F);
    for (int c = 0; c < 3; ++c) {
        cv::Mat plane(info.size, CV_32F, blob.ptr<float>(0, c));
        cv::Mat channel;
        cv::extractChannel(stretched, channel, 2 - c);
        channel.convertTo(plane, CV_32F, 1.0 / (255.0 * info.std[c]), -info.mean[c] / info.std[c]);
    }
    return blob;
}

}  // namespace mpm
