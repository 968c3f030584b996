// A source read by a separate thread: the latest frame wins, broken connections are opened again, and the
// state is reported.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

enum class SourceState {
    Connecting,  ///< first attempt under way
    Live,        ///< frames arrive
    Stalled,     ///< connected, but no frame for `stallAfter` and three times the source's pace
    Retrying,    ///< the connection broke; another attempt follows
    Offline,     ///< no frame for `offlineAfter`; attempts go on
    Ended,       ///< a file or folder is through
    Failed,      ///< cannot be used, and trying again would not help
};

const char* stateName(SourceState state);

struct SourceStatus {
    SourceState state = SourceState::Connecting;
    bool live = false;                            ///< Source::live() of the opened source
    std::chrono::system_clock::time_point since;  ///< when the state began; Offline: when the last frame came
    std::chrono::system_clock::time_point lastFrame;  ///< epoch before the first
    std::chrono::milliseconds nextAttempt{0};         ///< pause left while Retrying or Offline
    int attempts = 0;                                 ///< failed ones since the last frame
    std::int64_t frames = 0;                          ///< read
    int passes = 0;                                   ///< complete ones, of a file or folder that loops
    std::int64_t dropped = 0;                         ///< read, but never taken because a newer frame came
    std::int64_t position = -1;             ///< number of the newest frame in the film; -1: none, or live
    std::int64_t length = -1;               ///< frames of the film, if known
    std::string codec;                      ///< of the film or stream, if known
    double rate = 0;                        ///< frames a second of the film, if known
    bool held = false;                      ///< a film that waits: by setHeld(), or at the end
    double speed = 1;                       ///< of a film, by setSpeed()
    bool repeats = true;                    ///< a film, by setLoop()
    std::int64_t bad = 0;                   ///< different images that could not be read
    std::vector<SourceProblem> unreadable;  ///< for the first hundred
    SourceProblem problem;                  ///< the last

    /// The last problem in English; empty if there was none.
    std::string message() const { return problem.message(); }
};

struct ReaderOptions {
    std::chrono::milliseconds stallAfter{3'000};
    std::chrono::milliseconds offlineAfter{60'000};
    std::chrono::milliseconds firstPause{500};
    std::chrono::milliseconds longestPause{30'000};
    bool retryEnded = true;  ///< a live source that ended is opened again, like a broken source
    bool loop = false;       ///< begin again at the end of a file or folder
    bool everyFrame =
        false;  ///< wait until a frame is taken instead of dropping it; for sources that are not live
    double imageRate = 1;  ///< frames a second of sources without a rate (folders)
};

class Reader {
public:
    using Make = std::function<std::unique_ptr<Source>()>;

    /// Starts the thread at once. `make` is called by it for every attempt.
    Reader(Make make, const ReaderOptions& options);
    Reader(const Address& source, const ReaderOptions& options, const SourceOptions& sourceOptions = {});

    /// Returns within about two seconds even if the driver hangs inside a read: the thread ends later.
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// The newest frame that was not taken yet; waits up to `wait`. False: none came, or the source is over.
    bool take(Frame& frame, std::chrono::milliseconds wait);

    /// For films, files and folders; a live source ignores these calls. They take effect with the next frame.
    /// Held: frames come from seek() and step() only.
    void setHeld(bool held);
    void seek(std::int64_t frame);
    /// A frame forward, or back if `direction` is negative.
    void step(int direction);
    /// A factor of the film's pace.
    void setSpeed(double speed);
    /// Off: the film is held at the end.
    void setLoop(bool loop);

    /// True while another frame may come.
    bool running() const;
    SourceStatus status() const;

private:
    class Worker;
    std::shared_ptr<Worker> m_worker;
};

}  // namespace mpm::pipeline
