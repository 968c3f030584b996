// Reads the metadata of a model file, and prepares images as the metadata describe.
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>

#include <mpm/read_net.hpp>

#include "base/printable.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/model/onnx_metadata.hpp"

namespace mpm {
namespace {

using nlohmann::json;

constexpr int kLargestSide = 1 << 15, kLargestBlock = 9999;
// The deepest value is a list of lists: "[[r, g, b], ...".
constexpr int kDeepest = 2;

// Thrown if a value is not what its key requires. readProperty() writes the message.
struct Unfit {};

double number(const json& value) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) throw Unfit();
    return value.get<double>();
}

int wholeNumber(const json& value, int lowest, int highest) {
    const double found = number(value);
    if (found < lowest || found > highest || found != std::floor(found)) throw Unfit();
    return static_cast<int>(found);
}

const json& listOf(const json& value, size_t count) {
    if (!value.is_array() || value.size() != count) throw Unfit();
    return value;
}

cv::Scalar toScalar(const json& value) {
    listOf(value, 3);
    return {number(value[0]), number(value[1]), number(value[2])};
}

// Returns whether an image may be stretched to this size. Sizes are limited, because a blob takes 12 bytes
// for each pixel.
bool isImageSize(cv::Size size) {
    const auto within = [](int side) { return side >= 1 && side <= kLargestSide; };
    return within(size.width) && within(size.height) &&
           static_cast<std::int64_t>(size.height) * size.width <= kMostPixels;
}

std::string sizeText(cv::Size size) {
    return cv::format("%d x %d; rows and columns may be 1..%d and give at most %lld pixels", size.height,
                      size.width, kLargestSide, static_cast<long long>(kMostPixels));
}

void readSize(const json& value, ModelInfo& info) {
    listOf(value, 2);
    info.size = cv::Size(wholeNumber(value[1], 1, kLargestSide), wholeNumber(value[0], 1, kLargestSide));
    if (!isImageSize(info.size)) throw Unfit();
}

void readDeviation(const json& value, ModelInfo& info) {
    const cv::Scalar deviation = toScalar(value);
    for (int c = 0; c < 3; ++c)
        if (!(deviation[c] > 0)) throw Unfit();
    info.std = deviation;
}

void readSchedule(const json& value, ModelInfo& info) {
    std::vector<int> schedule;
    for (const json& block : listOf(value, value.size())) {
        schedule.push_back(wholeNumber(block, schedule.empty() ? 0 : schedule.back() + 1, kLargestBlock));
    }
    info.schedule = schedule;
}

void readPalette(const json& value, ModelInfo& info) {
    std::vector<cv::Vec3b> palette;
    for (const json& colour : listOf(value, value.size())) {
        listOf(colour, 3);
        cv::Vec3b rgb;
        for (int c = 0; c < 3; ++c)
            rgb[c] = static_cast<uchar>(wholeNumber(colour[c], 0, 255));
        palette.push_back(rgb);
    }
    info.palette = palette;
}

void readDetections(const json& value, ModelInfo& info) {
    info.detections = detectionOutputsFrom(value);
    if (!info.detections) throw Unfit();
}

Reuse toReuse(const json& value) {
    try {
        return reuseOfFile(value.get<std::string>());
    } catch (const cv::Exception&) {
        throw Unfit();
    }
}

struct Property {
    void (*read)(const json& value, ModelInfo& info);
    const char* expected;
};

// The keys that this version reads. Other keys are ignored, because they may come from a later version.
const std::map<std::string, Property>& knownProperties() {
    static const std::map<std::string, Property> kKnown = {
        {"mpm.labels",
         {[](const json& v, ModelInfo& info) { info.labels = v.get<std::vector<std::string>>(); },
          "a list of names"}},
        {"mpm.palette", {readPalette, "a list of colours, each three whole numbers of 0..255"}},
        {"mpm.size",
         {readSize, "rows and columns, whole numbers of 1..32768, together at most 134217728 pixels"}},
        {"mpm.mean",
         {[](const json& v, ModelInfo& info) { info.mean = toScalar(v); }, "three finite numbers"}},
        {"mpm.std", {readDeviation, "three positive numbers"}},
        {"mpm.detections", {readDetections, kDetectionsForm}},
        {"mpm.schedule", {readSchedule, "whole numbers of at least 0, strictly increasing"}},
        {"mpm.reuse",
         {[](const json& v, ModelInfo&) { toReuse(v); },
          "text with values for reuse, as \"refresh=60,full=0.3\""}},
        {"mpm.source_sha256",
         {[](const json& v, ModelInfo& info) { info.sourceSha256 = v.get<std::string>(); }, "text"}}};
    return kKnown;
}

void readProperty(const std::string& path, const std::string& key, const std::string& text, ModelInfo& info) {
    const auto known = knownProperties().find(key);
    if (known == knownProperties().end()) return;
    const auto refuse = [&] {
        CV_Error(cv::Error::StsParseError, "mpm: metadata " + key + " of " + printable(path) +
                                               " is not as expected: " + printable(text, 80) + "; expected " +
                                               known->second.expected);
    };
    try {
        const auto shallow = [](int depth, json::parse_event_t, json&) {
            if (depth > kDeepest) throw Unfit();
            return true;
        };
        known->second.read(json::parse(text, shallow), info);
    } catch (const json::exception&) {
        refuse();
    } catch (const Unfit&) {
        refuse();
    }
}

void checkNormalisation(const ModelInfo& info) {
    for (int c = 0; c < 3; ++c) {
        if (!std::isfinite(info.mean[c]))
            CV_Error(cv::Error::StsOutOfRange, "mpm: info.mean must be three finite numbers");
        if (!(info.std[c] > 0) || std::isinf(info.std[c]))
            CV_Error(cv::Error::StsOutOfRange, "mpm: info.std must be three positive, finite numbers");
        if (!std::isfinite(static_cast<float>(1 / info.std[c])) ||
            !std::isfinite(static_cast<float>(info.mean[c] / info.std[c])))
            CV_Error(cv::Error::StsOutOfRange, "mpm: info.std is too small to divide by");
    }
}

}  // namespace

ModelInfo modelInfo(const std::string& path) {
    const OnnxMetadata metadata = readOnnxMetadata(path);
    ModelInfo info;
    info.input = metadata.input;
    if (metadata.inputShape.size() == 4) info.size = cv::Size(metadata.inputShape[3], metadata.inputShape[2]);
    if (!info.size.empty() && !isImageSize(info.size))
        CV_Error(cv::Error::StsOutOfRange,
                 "mpm: the input of " + printable(path) + " cannot be " + sizeText(info.size));
    for (const auto& [key, text] : metadata.properties)
        readProperty(path, key, text, info);
    if (info.detections)
        info.detections->sizeIsInt64 = metadata.int64Inputs.count(info.detections->sizeInput) > 0;
    return info;
}

Reuse reuseOf(const std::string& path) {
    const OnnxMetadata metadata = readOnnxMetadata(path);
    const auto found = metadata.properties.find("mpm.reuse");
    if (found == metadata.properties.end()) return {};
    ModelInfo info;
    readProperty(path, found->first, found->second, info);  // rejects unexpected values
    return toReuse(json::parse(found->second));
}

int batchOf(const std::string& path) {
    const std::vector<int> shape = readOnnxMetadata(path).inputShape;
    return shape.size() == 4 ? shape.front() : 0;
}

cv::Mat blobFromImage(const cv::Mat& image, const ModelInfo& info) {
    if (image.empty() || image.dims != 2 || image.type() != CV_8UC3) {
        CV_Error(cv::Error::StsBadArg, "mpm: image must be 8-bit BGR (CV_8UC3) and not empty");
    }
    if (info.size.empty())
        CV_Error(cv::Error::StsBadArg, "mpm: info.size is empty; set the size of the network's input");
    if (!isImageSize(info.size))
        CV_Error(cv::Error::StsOutOfRange, "mpm: info.size cannot be " + sizeText(info.size));
    checkNormalisation(info);
    cv::Mat stretched;
    cv::resize(image, stretched, info.size, 0, 0, cv::INTER_LINEAR);
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
