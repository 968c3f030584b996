// Selects files that may be read as a video: regular files that are not playlists. A pipe would block the
// program, and a playlist would make FFmpeg read other files or call other hosts.
#pragma once

#include <optional>
#include <string>

#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

/// Returns the reason why the file at `path` is not read as a video; nothing if FFmpeg may try. Does not wait
/// for a pipe or a device.
std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path);

/// While this object exists, FFmpeg opens no format that names other files or hosts, except HLS through a
/// proxy at a local port. FFmpeg's options are global, so an opening through a proxy waits to be alone.
class FfmpegOpening {
public:
    /// `proxy`: the port; 0: no proxy. Throws SourceError if another opening hangs.
    explicit FfmpegOpening(int proxy = 0);
    ~FfmpegOpening();
    FfmpegOpening(const FfmpegOpening&) = delete;
    FfmpegOpening& operator=(const FfmpegOpening&) = delete;
};

}  // namespace mpm::pipeline
