#include <algorithm>
#include <cctype>
#include <filesystem>

#include "pipeline/source/capture.hpp"
#include "pipeline/source/pictures.hpp"
#include "pipeline/source/scene_source.hpp"
#include "pipeline/source/source.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

bool isNumber(const std::string& text) {
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    return !text.empty() && text.size() < 6 && std::all_of(text.begin(), text.end(), digit);
}

bool isGlob(const std::string& text) {
    return text.find_first_of("*?[") != std::string::npos;
}

}  // namespace

SourceKind sourceKind(const std::string& text) {
    std::error_code error;
    if (text == "demo") return SourceKind::Scene;
    if (isNumber(text)) return SourceKind::Camera;
    if (text.rfind("gst:", 0) == 0) return SourceKind::Pipeline;
    if (text.find("://") != std::string::npos) return SourceKind::Stream;
    if (fs::is_directory(text, error)) return SourceKind::Pictures;
    if (fs::exists(text, error)) return looksLikePicture(text) ? SourceKind::Pictures : SourceKind::Video;
    if (isGlob(text) && !picturePaths(text).empty()) return SourceKind::Pictures;
    throw SourceError(
        withoutPasswords(text) +
        ": no such source; name a camera index, a video, an image, a folder or glob of images, a URL, "
        "gst: and a pipeline, or demo");
}

std::unique_ptr<Source> makeSource(const std::string& text, const SourceOptions& options) {
    const SourceKind kind = sourceKind(text);
    switch (kind) {
        case SourceKind::Scene:
            return std::make_unique<SceneSource>(options.scene);
        case SourceKind::Pictures:
            return std::make_unique<PictureSource>(text);
        default:
            return std::make_unique<CaptureSource>(kind, text, options);
    }
}

}  // namespace mpm::pipeline
