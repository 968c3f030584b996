// HLS of a camera: the user's address names a playlist, and the parts of the playlist must be on the same
// host.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace mpm::pipeline {

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
