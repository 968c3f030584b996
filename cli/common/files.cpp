#include "cli/common/files.hpp"

#include <algorithm>
#include <filesystem>

#include <opencv2/imgcodecs.hpp>

#include "base/private_files.hpp"
#include "cli/common/error.hpp"

namespace mpm::cli {

namespace {

template <class Work>
void withStatus(const Work& work) {
    try {
        work();
    } catch (const cv::Exception& error) {
        throw Error(error.code == cv::Error::StsBadArg ? kWrongUse : kFailed, error.err);
    }
}

/// Returns JSON as text. Replaces bytes that are not UTF-8, for example in file names.
std::string textOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const Json& json, size_t depth) {
    const bool flat = std::none_of(json.begin(), json.end(), [](const Json& j) { return j.is_structured(); });
    if (!json.is_structured() || json.empty() || (json.is_array() && flat)) return textOf(json);
    const std::string pad(2 * depth + 2, ' ');
    std::string text = json.is_array() ? "[" : "{";
    for (const auto& [key, value] : json.items()) {
        text += (text.size() > 1 ? ",\n" : "\n") + pad;
        if (json.is_object()) text += textOf(key) + ": ";
        text += indented(value, depth + 1);
    }
    return text + '\n' + std::string(2 * depth, ' ') + (json.is_array() ? "]" : "}");
}

}  // namespace

void checkWritable(const std::string& path) {
    withStatus([&] { PendingFile file(path, Access::Umask); });
}

void writeBytes(const std::string& path, std::string_view bytes, Sync sync) {
    withStatus([&] {
        PendingFile file(path, Access::Umask);
        file.write(bytes);
        file.keep(sync);
    });
}

void writeImage(const std::string& path, const cv::Mat& image) {
    std::vector<uchar> bytes;
    if (!cv::imencode(std::filesystem::path(path).extension().string(), image, bytes))
        throw Error(kFailed, path + ": the image cannot be encoded");
    // Does not wait for the disk, because for thousands of images, waiting would take longer than drawing.
    writeBytes(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Sync::Replacing);
}

void makeFolder(const std::string& path) {
    try {
        makeFolders(path, Access::Umask);
    } catch (const cv::Exception& error) {
        throw Error(kFailed, error.err + "; choose another");
    }
}

std::string reportText(const Json& report) {
    return indented(report, 0) + '\n';
}

void writeJson(const std::string& path, const Json& report) {
    writeBytes(path, reportText(report));
}

}  // namespace mpm::cli
