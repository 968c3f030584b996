// Checks a file before FFmpeg reads it as a video: the file must be regular and not a playlist. A pipe would
// block the program, and a playlist would make FFmpeg read other files or connect to other hosts.
#pragma once

#include <optional>
#include <string>

#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

/// Returns the reason why FFmpeg must not read the file at `path`; nothing if there is no reason. Never waits
/// for a pipe or a device.
std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path);

/// Sets the environment variables from which OpenCV reads FFmpeg's options and log level. A program should
/// call this function before it starts threads, because changes of the environment are unsafe while other
/// threads read the environment. If the program does not call this function, the first capture calls it.
void prepareFfmpeg();

/// While this object exists, FFmpeg rejects formats that name other files or hosts. If the object has a
/// proxy, FFmpeg accepts HLS, because the proxy rejects other hosts. FFmpeg's options are global, so no
/// other object exists at the same time as an object with a proxy: the constructor waits.
class FfmpegOpening {
public:
    /// `proxy`: port of the proxy; 0 if there is none. Throws SourceError if the wait takes too long.
    explicit FfmpegOpening(int proxy = 0);
    ~FfmpegOpening();
    FfmpegOpening(const FfmpegOpening&) = delete;
    FfmpegOpening& operator=(const FfmpegOpening&) = delete;
};

}  // namespace mpm::pipeline
