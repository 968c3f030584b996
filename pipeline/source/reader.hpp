// A thread that reads a source, keeps only the latest frame, reconnects, and reports the state.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

enum class SourceState {
    Connecting,  ///< the first attempt is in progress
    Live,        ///< frames arrive
    Stalled,     ///< connected, but no frame for the longer of `stallAfter` and three frame intervals
    Retrying,    ///< the connection broke; another attempt follows
    Offline,     ///< no frame for `offlineAfter`; attempts continue
    Ended,       ///< a file or folder was read to the end
    Failed,      ///< the source cannot be used, and another attempt would not help
};

const char* stateName(SourceState state);

struct SourceStatus {
    SourceState state = SourceState::Connecting;
    bool live = false;  ///< the opened source's Source::live()
    /// When the state began. If Stalled or Offline: time of the latest frame, or the reader's start if none.
    std::chrono::system_clock::time_point since;
    std::chrono::system_clock::time_point lastFrame;  ///< time of the latest frame; epoch if there was none
    std::chrono::milliseconds nextAttempt{0};         ///< time until the next attempt
    int attempts = 0;                                 ///< failed attempts since the latest frame
    std::int64_t frames = 0;
    int passes = 0;                         ///< complete passes of a file or folder that loops
    std::int64_t dropped = 0;               ///< frames that a newer frame replaced before take()
    std::int64_t position = -1;             ///< of the latest frame in the video; -1: no frame yet, or live
    std::int64_t length = -1;               ///< number of frames of the film; -1 if unknown
    std::string codec;                      ///< codec of the film or stream, if known
    double rate = 0;                        ///< frames per second of the film; 0 if unknown
    bool held = false;                      ///< whether a film is held (paused), by setHeld() or at the end
    double speed = 1;                       ///< factor of a film's rate, set by setSpeed()
    bool repeats = true;                    ///< whether a film repeats, set by setLoop()
    std::int64_t bad = 0;                   ///< number of different images that could not be read
    std::vector<SourceProblem> unreadable;  ///< problems of the first hundred bad images
    SourceProblem problem;                  ///< the latest problem

    /// Returns the latest problem in English; empty if there was none.
    std::string message() const { return problem.message(); }
};

struct ReaderOptions {
    std::chrono::milliseconds stallAfter{3'000};
    std::chrono::milliseconds offlineAfter{60'000};
    std::chrono::milliseconds firstPause{500};
    std::chrono::milliseconds longestPause{30'000};
    bool retryEnded = true;   ///< open a live source again if it ended, not only if it broke
    bool loop = false;        ///< begin again at the end of a file or folder
    bool everyFrame = false;  ///< drop no frame of a film: each frame waits until take() takes it
    double imageRate = 1;     ///< frames per second of sources without a rate (folders)
};

class Reader {
public:
    using Make = std::function<std::unique_ptr<Source>()>;

    /// Starts the thread. The thread calls `make` for each attempt to open the source.
    Reader(Make make, const ReaderOptions& options);
    Reader(const Address& source, const ReaderOptions& options, const SourceOptions& sourceOptions = {});

    /// Waits up to two seconds for the thread to end. If a read hangs in a driver for longer, the thread
    /// continues until the read returns.
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Takes the newest frame. If an earlier call took this frame, waits up to `wait` for a newer frame.
    /// Returns false if no newer frame arrived in time, or if the source ended and its last frame was taken.
    bool take(Frame& frame, std::chrono::milliseconds wait);

    /// The five functions below control a film, and do not affect the frames of a live source. A call takes
    /// effect at the next frame. While a film is held, only seek() and step() give frames.
    void setHeld(bool held);
    void seek(std::int64_t frame);
    /// Steps to the next frame, or to the previous frame if `direction` is negative.
    void step(int direction);
    void setSpeed(double speed);
    /// If `loop` is false, the film is held at its end.
    void setLoop(bool loop);

    /// Returns whether the source may give another frame.
    bool running() const;
    SourceStatus status() const;

private:
    class Worker;
    std::shared_ptr<Worker> m_worker;
};

}  // namespace mpm::pipeline
