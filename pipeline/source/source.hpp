// Sources of frames: an interface for cameras, files, streams, folders and the built-in street. In comments,
// a film is a source that is not live, such as a video or a folder.
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
    cv::Mat image;                               ///< CV_8UC3, BGR; no later frame uses this memory
    std::int64_t number = -1;                    ///< number in this source, from 0
    int pass = 0;                                ///< how many times the source was read to the end before
    std::chrono::system_clock::time_point time;  ///< when the frame was taken (live) or read
    std::string name;                            ///< stem of file names for this frame
    double seconds = 0;  ///< in the film or scene; for a live source, since the opening
};

/// A source of frames. Only a single thread at a time may use a source.
class Source {
public:
    virtual ~Source() = default;
    virtual void open() = 0;              ///< throws SourceError; may be called again after a failure
    virtual bool next(Frame& frame) = 0;  ///< returns false at the end; throws SourceError or BadImage
    virtual bool live() const = 0;  ///< whether frames come in real time, so that readers may skip frames
    virtual std::string name() const = 0;               ///< a name for display, without a password
    virtual std::int64_t length() const { return -1; }  ///< number of frames, if known after open()
    virtual double rate() const { return 0; }           ///< frames per second, if known after open()
    /// Returns the four letters of the codec; empty if unknown after open().
    virtual std::string codec() const { return {}; }
    /// Makes the next call to next() return the frame with the given number. Returns false if the source
    /// cannot seek.
    virtual bool seek(std::int64_t) { return false; }
};

/// Settings of the built-in street.
struct SceneOptions {
    cv::Size size{640, 480};
    int framesPerDay = 0;      ///< frames of a whole day in fast motion; 0: no fast motion
    double startHour = 15;     ///< hour of the street's clock at frame 0; default: a few hours before dusk
    std::int64_t frames = -1;  ///< number of frames; -1: without end
    int samples = 2;           ///< samples x samples rays in each pixel: 2 smooths edges, 1 is faster
};

struct SourceOptions {
    std::chrono::milliseconds openTimeout{10'000};
    std::chrono::milliseconds readTimeout{10'000};
    SceneOptions scene;
};

enum class SourceKind { Camera, Stream, Pipeline, Video, ImageFiles, Scene };

/// Properties of a kind of source, known before open(), unlike Source::live().
struct SourceTraits {
    bool remote = false;    ///< frames come from a device or server, which may be unreachable
    bool seekable = false;  ///< a video: seek() works, and the video can repeat
    bool files = false;     ///< image files; each may be unreadable, or have labels next to it
    bool scene = false;     ///< the built-in street, with a simulated clock
};

constexpr SourceTraits traitsOf(SourceKind kind) {
    constexpr SourceTraits kTraits[] = {
        {true}, {true}, {true}, {false, true}, {false, false, true}, {false, false, false, true}};
    return kTraits[static_cast<int>(kind)];
}

/// Finds the kind of `address` by its form and by the files on the disk. An address is a camera index, a
/// video file, an RTSP/HTTP URL, `gst:` and a pipeline, an image, a folder or glob, or `demo`. For env:NAME
/// or secret:NAME, returns the kind of the address that NAME stands for. Throws SourceError if there is no
/// such source.
SourceKind sourceKind(const Address& address);

/// Makes the source of `address` without opening it. Throws SourceError if there is no such source.
std::unique_ptr<Source> makeSource(const Address& address, const SourceOptions& options = {});

/// Reads the next readable frame; returns false at the end. Skips unreadable images and reports each to
/// `skipped`, which returns false to stop. Throws BadImage if the source's only image is unreadable.
bool nextReadable(Source& source, Frame& frame,
                  const std::function<bool(const std::string& message)>& skipped);

/// Limits of readSpread().
struct SpreadReading {
    std::int64_t count;
    double seconds;
    std::function<bool()> stopped;
    std::function<void(const std::string& message)> skipped;  ///< gets the reason for each unreadable image
};
/// If the source can seek and has more than 4 * `count` frames, passes `count` evenly spread images to
/// `take`. Then, while the latest result of `take` is true, passes up to `count` more images, each from the
/// gap after an earlier image. If the source is shorter or cannot seek, passes all images and ignores the
/// result of `take`. Ends after `seconds` or if `stopped` returns true. Returns whether the time ran out.
bool readSpread(Source& source, const SpreadReading& reading,
                const std::function<bool(const cv::Mat& image)>& take);

/// Returns whether this program has no permission to read `path`.
bool isUnreadable(const std::string& path);

/// Returns the images of a folder or glob in natural order (frame2 before frame10); for a file, its path.
std::vector<std::string> imagePaths(const std::string& text);

}  // namespace mpm::pipeline
