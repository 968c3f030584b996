// Sources of frames: an interface for cameras, files, streams, folders and the built-in street.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/source/address.hpp"
#include "pipeline/source/source_error.hpp"

namespace mpm::pipeline {

struct Frame {
    cv::Mat image;                               ///< CV_8UC3, BGR; never shared with a later frame
    std::int64_t number = -1;                    ///< number in this source, from 0
    int pass = 0;                                ///< number of times the source was read to the end before
    std::chrono::system_clock::time_point time;  ///< when the frame was taken (live) or read
    std::string name;                            ///< stem of file names for this frame
    double seconds = 0;  ///< time of the source's clock: of the film, of the scene, or since opening
};

/// A source of frames. Only a single thread at a time may use a source.
class Source {
public:
    virtual ~Source() = default;
    virtual void open() = 0;               ///< throws SourceError; may be called again after a failure
    virtual bool next(Frame& frame) = 0;   ///< false at the end; throws SourceError or BadImage
    virtual bool live() const = 0;         ///< frames come in real time: only the latest counts
    virtual std::string name() const = 0;  ///< for display, without a password
    virtual std::int64_t length() const { return -1; }  ///< number of frames, if known after open()
    virtual double rate() const { return 0; }           ///< frames per second, if known after open()
    /// Four letters; empty if unknown after open().
    virtual std::string codec() const { return {}; }
    /// Makes this frame the next. Returns false if the source cannot seek.
    virtual bool seek(std::int64_t) { return false; }
};

/// How the built-in street is filmed.
struct SceneOptions {
    cv::Size size{640, 480};
    int framesPerDay = 0;      ///< fast motion: frames of a whole day; 0: the scene's pace
    double startHour = 15;     ///< hour of the scene's clock at frame 0; dusk is near
    std::int64_t frames = -1;  ///< number of frames; -1: without end
    int samples = 2;           ///< samples x samples rays in each pixel: 2 smooths edges, 1 is faster
};

struct SourceOptions {
    std::chrono::milliseconds openTimeout{10'000};
    std::chrono::milliseconds readTimeout{10'000};
    SceneOptions scene;
};

enum class SourceKind { Camera, Stream, Pipeline, Video, ImageFiles, Scene };

/// Properties of a kind of source. Source::live() is known only after open().
struct SourceTraits {
    bool remote = false;    ///< the other side may be gone, so do not wait long for a read
    bool seekable = false;  ///< a film: frames have numbers, and the film may repeat
    bool files = false;     ///< images in files; each may be unreadable, or have labels next to it
    bool scene = false;     ///< the built-in street, with a simulated clock
};

constexpr SourceTraits traitsOf(SourceKind kind) {
    constexpr SourceTraits kTraits[] = {
        {true}, {true}, {true}, {false, true}, {false, false, true}, {false, false, false, true}};
    return kTraits[static_cast<int>(kind)];
}

/// Finds the kind of `address`, by form and by files on the disk: a camera index, a video file, an RTSP/HTTP
/// URL, `gst:` and a pipeline, an image, a folder or glob, or `demo`; for env: or secret:, the kind of the
/// value. Throws SourceError if there is no such source.
SourceKind sourceKind(const Address& address);

/// Makes the source of `address`, not opened yet. Throws SourceError if there is no such source.
std::unique_ptr<Source> makeSource(const Address& address, const SourceOptions& options = {});

/// Reads the next readable frame; returns false at the end. Unreadable images among several are skipped and
/// reported to `skipped`, which returns false to stop. A single unreadable image throws.
bool nextReadable(Source& source, Frame& frame,
                  const std::function<bool(const std::string& message)>& skipped);

/// Passes images to `take`. If the source can seek and has more than 4 * `count` frames: `count` images from
/// all parts of the source, then up to `count` more until `take` returns false. Otherwise every image. Ends
/// after `seconds`, or if `stopped`. Returns whether the time ran out.
struct SpreadReading {
    std::int64_t count;
    double seconds;
    std::function<bool()> stopped;
    std::function<void(const std::string& message)> skipped;  ///< gets the reason for each unreadable image
};
bool readSpread(Source& source, const SpreadReading& reading,
                const std::function<bool(const cv::Mat& image)>& take);

/// Whether `path` exists but this program has no permission to read it.
bool isUnreadable(const std::string& path);

/// Returns the images of a folder or glob in natural order, or only the path for a file.
std::vector<std::string> imagePaths(const std::string& text);

}  // namespace mpm::pipeline
