#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include "base/stopwatch.hpp"
#include "pipeline/source/capture.hpp"
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

bool isUnreadable(const std::string& path) {
    // A file must be readable; a folder must also be searchable.
    std::error_code error;
    const int how = fs::is_directory(path, error) ? R_OK | X_OK : R_OK;
    return faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) != 0 && errno == EACCES;
}

namespace {

SourceKind kindOf(const Address& address) {
    const std::string& text = address.reveal();
    std::error_code error;
    if (text == "demo") return SourceKind::Scene;
    if (isNumber(text)) return SourceKind::Camera;
    if (text.rfind("gst:", 0) == 0) return SourceKind::Pipeline;
    if (text.find("://") != std::string::npos) return SourceKind::Stream;
    if (fs::is_directory(text, error)) return SourceKind::ImageFiles;
    if (fs::exists(text, error)) return hasImageExtension(text) ? SourceKind::ImageFiles : SourceKind::Video;
    if (isUnreadable(text)) throw SourceError(SourceProblem::Kind::PermissionDenied, address.shown());
    if (isGlob(text) && !imagePaths(text).empty()) return SourceKind::ImageFiles;
    throw SourceError(SourceProblem::Kind::NoSuchSource, address.shown());
}

}  // namespace

SourceKind sourceKind(const Address& address) {
    return kindOf(resolved(address));
}

std::unique_ptr<Source> makeSource(const Address& address, const SourceOptions& options) {
    const Address source = resolved(address);
    const SourceKind kind = kindOf(source);
    switch (kind) {
        case SourceKind::Scene:
            return std::make_unique<SceneSource>(options.scene);
        case SourceKind::ImageFiles:
            return std::make_unique<ImageFilesSource>(source);
        default:
            return std::make_unique<CaptureSource>(kind, source, options);
    }
}

bool nextReadable(Source& source, Frame& frame,
                  const std::function<bool(const std::string& message)>& skipped) {
    for (;;) {
        try {
            return source.next(frame);
        } catch (const BadImage& error) {
            if (source.length() == 1) throw;
            if (!skipped(error.what())) return false;
        }
    }
}

bool readSpread(Source& source, const SpreadReading& reading,
                const std::function<bool(const cv::Mat& image)>& take) {
    const Stopwatch watch;
    bool late = false;
    const auto goesOn = [&] {
        late = watch.seconds() >= reading.seconds;
        return !late && !reading.stopped();
    };
    const auto skip = [&](const std::string& message) {
        reading.skipped(message);
        return goesOn();
    };
    const auto next = [&](Frame& frame) { return goesOn() && nextReadable(source, frame, skip); };
    const std::int64_t length = source.length(), most = 2 * reading.count;
    Frame frame;
    if (length <= 2 * most || !source.seek(0)) {
        while (next(frame))
            take(frame.image);
        return late;
    }
    // First reads evenly spread frames of the whole source, then the frames halfway between them.
    bool wanted = true;
    for (std::int64_t k = 0; k < most && (wanted || k < reading.count); ++k) {
        const std::int64_t place = 2 * (k % reading.count) + k / reading.count;
        source.seek(static_cast<std::int64_t>(static_cast<double>(length) * static_cast<double>(place) /
                                              static_cast<double>(most)));
        if (!next(frame)) break;
        wanted = take(frame.image);
    }
    return late;
}

}  // namespace mpm::pipeline
