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
    std::int64_t number = -1;                    ///< from 0, of this source
    int pass = 0;                                ///< how often the source was read to the end before
    std::chrono::system_clock::time_point time;  ///< when it was taken (live) or read
    std::string name;                            ///< stem of the names of files for this frame
    double seconds = 0;  ///< the source's clock: film time, scene time, time since opening
};

/// A source belongs to a single thread at a time.
class Source {
public:
    virtual ~Source() = default;
    virtual void open() = 0;               ///< throws SourceError; may be called again after a failure
    virtual bool next(Frame& frame) = 0;   ///< false at the end; throws SourceError or BadImage
    virtual bool live() const = 0;         ///< frames come in real time: only the latest counts
    virtual std::string name() const = 0;  ///< to be shown; no password
    virtual std::int64_t length() const { return -1; }  ///< frames, if known after open()
    virtual double rate() const { return 0; }           ///< frames a second, if known after open()
    /// Four letters, if known after open(); empty: not known.
    virtual std::string codec() const { return {}; }
    /// The next frame gets this number. False: the source cannot seek.
    virtual bool seek(std::int64_t) { return false; }
};

/// How the built-in street is filmed.
struct SceneOptions {
    cv::Size size{640, 480};
    int framesPerDay = 0;      ///< fast motion: a whole day in this number of frames; 0: the scene's pace
    double startHour = 15;     ///< of the scene's clock, at frame 0: dusk is near
    std::int64_t frames = -1;  ///< how many; -1: without end
    int samples = 2;           ///< rays a side in each pixel: 2 smooths edges, 1 is faster
};

struct SourceOptions {
    std::chrono::milliseconds openTimeout{10'000};
    std::chrono::milliseconds readTimeout{10'000};
    SceneOptions scene;
};

enum class SourceKind { Camera, Stream, Pipeline, Video, ImageFiles, Scene };

/// What programs need to know of a kind. Whether time passes by itself is known after open(): Source::live.
struct SourceTraits {
    bool remote = false;    ///< a read ends soon or fails: the other side may be gone
    bool seekable = false;  ///< a film: frames have numbers, and it may repeat
    bool files = false;     ///< images in files, which may be bad one by one and have labels beside them
    bool scene = false;     ///< the built-in street, with a simulated clock
};

constexpr SourceTraits traitsOf(SourceKind kind) {
    constexpr SourceTraits kTraits[] = {
        {true}, {true}, {true}, {false, true}, {false, false, true}, {false, false, false, true}};
    return kTraits[static_cast<int>(kind)];
}

/// The kind that `address` names, by form and by files on the disk: a camera index, a video file, an
/// RTSP/HTTP URL, `gst:` and a pipeline, an image, a folder or glob, or `demo`; or the value of env: or
/// secret:. Throws SourceError if it names nothing.
SourceKind sourceKind(const Address& address);

/// The source `address` names, not opened yet. Throws SourceError if it names nothing.
std::unique_ptr<Source> makeSource(const Address& address, const SourceOptions& options = {});

/// The next frame that can be read; false at the end. Of many images those that cannot be read are skipped
/// and reported to `skipped`, which returns false to stop. The only one throws.
bool nextReadable(Source& source, Frame& frame,
                  const std::function<bool(const std::string& message)>& skipped);

/// Gives images to `take`: at least `count` from all parts of the source until `take` returns false, if the
/// source is longer than that and can seek; else each image from the beginning on. Ends after `seconds`, or
/// if `stopped`. Returns whether the time ended it.
struct SpreadReading {
    std::int64_t count;
    double seconds;
    std::function<bool()> stopped;
    std::function<void(const std::string& message)> skipped;  ///< gets what cannot be read
};
bool readSpread(Source& source, const SpreadReading& reading,
                const std::function<bool(const cv::Mat& image)>& take);

/// Whether there is something at `path` that this program has no permission to read.
bool isUnreadable(const std::string& path);

/// The images of a folder (by natural order) or of a glob; a single path for a file.
std::vector<std::string> imagePaths(const std::string& text);

}  // namespace mpm::pipeline
