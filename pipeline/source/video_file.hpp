// Checks before FFmpeg reads a file as a video: the file must be regular and not a playlist. A pipe would
// block the program, and a playlist would make FFmpeg read other files or connect to other hosts.
#pragma once

#include <optional>
#include <string>

#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

/// Returns why the file at `path` must not be read as a video; nothing if it may be. Never waits for a pipe
/// or a device.
std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path);

/// Sets the environment variables from which OpenCV reads FFmpeg's options and log level. A program should
/// call this function before it starts threads, because changes of the environment are unsafe while other
/// threads read it. Otherwise, the first capture calls this function.
void prepareFfmpeg();

/// A guard: while this object exists, FFmpeg opens no format that names other files or hosts; with a proxy,
/// it opens HLS. FFmpeg's options are global, so an opening with a proxy waits until no other source is being
/// opened.
class FfmpegOpening {
public:
    /// `proxy`: port of the proxy; 0: none. Throws SourceError if another opening hangs.
    explicit FfmpegOpening(int proxy = 0);
    ~FfmpegOpening();
    FfmpegOpening(const FfmpegOpening&) = delete;
    FfmpegOpening& operator=(const FfmpegOpening&) = delete;
};

}  // namespace mpm::pipeline
