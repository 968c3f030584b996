// Which files may be read as a video: regular files that are no playlists. A pipe would block the program,
// and a playlist would make it read other files or call other hosts.
#pragma once

#include <optional>
#include <string>

#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

/// Why the file at `path` is not read as a video; absent: FFmpeg may try. Does not wait for a pipe or a
/// device.
std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path);

/// While it exists, FFmpeg opens no format that names other files or hosts, except for HLS through a proxy at
/// a port of this machine. FFmpeg's options belong to the process, so an opening through a proxy is alone.
class FfmpegOpening {
public:
    /// `proxy`: 0 without. Throws SourceError if another opening hangs.
    explicit FfmpegOpening(int proxy = 0);
    ~FfmpegOpening();
    FfmpegOpening(const FfmpegOpening&) = delete;
    FfmpegOpening& operator=(const FfmpegOpening&) = delete;
};

}  // namespace mpm::pipeline
