// Which files may be read as a video: regular files that are no playlists. A pipe would block the program,
// and a playlist would make it read other files or call other hosts.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

/// Why the file at `path` is not read as a video; absent: FFmpeg may try. Does not wait for a pipe or a
/// device.
std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path);

/// While it exists, FFmpeg opens no format that names other files or hosts; `playlists`: except for HLS.
/// FFmpeg's options belong to the process, so an opening with the other value waits.
class FfmpegOpening {
public:
    /// Throws SourceError if the other opening hangs.
    explicit FfmpegOpening(bool playlists);
    ~FfmpegOpening();
    FfmpegOpening(const FfmpegOpening&) = delete;
    FfmpegOpening& operator=(const FfmpegOpening&) = delete;
};

/// Whether an address names an HLS playlist behind HTTP: ".m3u8" or ".m3u" in it.
bool namesPlaylist(const std::string& address);

/// The parts that an HLS playlist names: segments, keys, other playlists.
struct PlaylistParts {
    std::vector<std::string> playlists, others;
};
PlaylistParts partsOfPlaylist(const std::string& text);

/// The address of `part` of the playlist at `base`; empty if it is on another host, or no http address at
/// all.
std::string addressOnSameHost(const std::string& base, const std::string& part);

/// Reads an address; an empty text if that fails. `finally` becomes the address after redirections.
using Fetch = std::function<std::string(const std::string& address, std::string& finally)>;

/// Whether all parts that the playlist names, directly or by further playlists, are on the playlist's host.
bool staysOnItsHost(const std::string& playlist, const Fetch& fetch);
/// The same through FFmpeg, within a time. True if OpenCV has no FFmpeg: then it reads no playlist either.
bool staysOnItsHost(const std::string& playlist, std::chrono::milliseconds time);

}  // namespace mpm::pipeline
