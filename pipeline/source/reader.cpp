#include "pipeline/source/reader.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/random.hpp"
#include "pipeline/source/patient.hpp"

namespace mpm::pipeline {

namespace {

using Steady = std::chrono::steady_clock;
using System = std::chrono::system_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostListed = 100;      // few, because callers copy the status ten times a second
constexpr milliseconds kStopPatience{2'000};  // how long the destructor waits for a read to return

}  // namespace

const char* stateName(SourceState state) {
    constexpr const char* kNames[] = {"connecting", "live",  "stalled", "retrying",
                                      "offline",    "ended", "failed"};
    return kNames[static_cast<int>(state)];
}

/// The state that the reader and its thread share and both own, because a thread that hangs in a driver may
/// outlive the reader.
class Reader::Worker {
public:
    Worker(Make make, const ReaderOptions& options) : m_make(std::move(make)), m_options(options) {
        m_status.since = System::now();
    }

    void run() {
        while (!stopping()) {
            bool again = false;
            try {
                const std::unique_ptr<Source> source = m_make();
                again = source->live();
                source->open();
                again = pump(*source);
            } catch (const std::exception& error) {
                note(problemOf(error));
                // Opens a live source again. Also opens a file or folder again if it loops, because a file
                // may be missing for a moment while another program replaces the file.
                m_looping = false;
                if (!again && !(m_options.loop && status().frames > 0)) return finish(SourceState::Failed);
                again = true;
            }
            if (!again) return finish(SourceState::Ended);
            pause();
        }
        finish(SourceState::Ended);
    }

    bool take(Frame& frame, milliseconds wait) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait_for(lock, wait, [this] { return m_full || m_over; });
        if (!m_full) return false;
        frame = std::move(m_slot);
        m_slot = {};
        m_full = false;
        m_changed.notify_all();
        return true;
    }

    bool running() const {
        std::lock_guard<std::mutex> lock(m_mutex);
        return m_full || !m_over;
    }

    /// Returns the status. Derives Stalled and Offline from the clock, so no watchdog thread is needed.
    SourceStatus status() const {
        std::lock_guard<std::mutex> lock(m_mutex);
        SourceStatus status = m_status;
        const auto now = Steady::now();
        const auto silence = now - m_lastFrame;
        // A slow camera has long gaps between frames, so the limit is at least three gaps. Uses the smaller
        // of the two latest gaps, because the larger may be an outage.
        const Steady::duration pace = std::min(m_gap, m_gapBefore), stallAfter = m_options.stallAfter;
        const bool down = status.state == SourceState::Connecting || status.state == SourceState::Retrying;
        if (status.state == SourceState::Live && !status.held && silence > std::max(stallAfter, 3 * pace)) {
            status.state = SourceState::Stalled;
            status.since = status.lastFrame;
        } else if (down && silence > m_options.offlineAfter) {
            status.state = SourceState::Offline;
            status.since = status.frames > 0 ? status.lastFrame : m_started;
        }
        status.nextAttempt =
            std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(m_nextAttempt - now));
        return status;
    }

    /// Calls change(*this) under the lock, and wakes all waiting threads.
    template <class Change>
    void update(const Change& change) {
        std::lock_guard<std::mutex> lock(m_mutex);
        change(*this);
        m_changed.notify_all();
    }

    bool waitUntilDone(milliseconds patience) {
        std::unique_lock<std::mutex> lock(m_mutex);
        return m_changed.wait_for(lock, patience, [this] { return m_over; });
    }

private:
    friend class Reader;

    bool stopping() const {
        std::lock_guard<std::mutex> lock(m_mutex);
        return m_stop;
    }

    /// Reads until the source ends. Returns true if the caller should open the source again.
    bool pump(Source& source) {
        const bool live = source.live();
        const double rate = source.rate() > 0 ? source.rate() : m_options.imageRate;
        describe(source);
        auto due = Steady::now();
        bool any = false;
        for (Frame frame; !stopping();) {
            if (!live && !advance(source, due)) break;
            try {
                if (!source.next(frame)) break;
            } catch (const BadImage& error) {
                countBad(error.problem());
                continue;
            }
            any = true;
            if (live) frame.seconds = std::chrono::duration<double>(Steady::now() - m_begun).count();
            put(std::move(frame), !live && m_options.everyFrame);
            frame = {};
            if (live || m_options.everyFrame) continue;
            const auto step = std::chrono::duration_cast<Steady::duration>(
                std::chrono::duration<double>(1 / (rate * speed())));
            due = std::max(due + step, Steady::now() - step);
            sleepUntil(due);
        }
        if (live) note({SourceProblem::Kind::StreamEnded, {}, {}});
        // If an earlier pass gave a frame, does not throw: all images may be incomplete for a moment while
        // another program replaces the files.
        if (!live && m_options.loop && !any && !stopping() && status().frames == 0)
            throw SourceError(problemWith(source));
        m_looping = !live && m_options.loop && any;
        if (m_looping && !stopping()) beginAgain();
        return live ? m_options.retryEnded || stopping() : m_options.loop;
    }

    /// Returns the problem of a source that gave no frame.
    SourceProblem problemWith(const Source& source) const {
        const SourceStatus now = status();
        if (now.bad == 1) return now.problem;
        using Kind = SourceProblem::Kind;
        return {now.bad > 1 ? Kind::AllImagesUnreadable : Kind::Empty, source.name(), {}};
    }

    static SourceProblem problemOf(const std::exception& error) {
        if (const auto* known = dynamic_cast<const SourceError*>(&error)) return known->problem();
        return {SourceProblem::Kind::Other, {}, {error.what()}};
    }

    void put(Frame frame, bool waitForTaker) {
        std::unique_lock<std::mutex> lock(m_mutex);
        if (waitForTaker) m_changed.wait(lock, [this] { return !m_full || m_stop; });
        if (m_stop) return;
        if (m_full) ++m_status.dropped;
        m_status.position = m_status.live ? -1 : frame.number;
        frame.number = m_status.frames++;  // the number continues after reconnections and in new passes
        frame.pass = m_status.passes;
        m_status.lastFrame = System::now();
        m_status.attempts = 0;
        const Steady::time_point now = Steady::now();
        m_gapBefore = std::exchange(m_gap, now - std::exchange(m_lastFrame, now));
        enter(SourceState::Live);
        m_slot = std::move(frame);
        m_full = true;
        m_changed.notify_all();
    }

    void pause() {
        std::unique_lock<std::mutex> lock(m_mutex);
        if (m_looping) return;
        ++m_status.attempts;
        const double growth = static_cast<double>(1 << std::min(m_status.attempts - 1, 16));
        const double full =
            std::min(m_options.firstPause.count() * growth, double(m_options.longestPause.count()));
        // Waits a random time, so that many monitors do not connect to a recorder at the same time after a
        // power cut.
        m_nextAttempt =
            Steady::now() + milliseconds(static_cast<std::int64_t>(full * m_random.uniform(0.5, 1.0)));
        enter(SourceState::Retrying);
        m_changed.wait_until(lock, m_nextAttempt, [this] { return m_stop; });
    }

    void sleepUntil(Steady::time_point time) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait_until(lock, time, [this] { return m_stop || commanded(); });
    }

    void note(const SourceProblem& problem) {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_status.problem = redacted(problem);
    }

    void describe(const Source& source) {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_status.live = source.live();
        m_status.length = source.length();
        m_status.rate = source.rate();
        m_status.codec = source.codec();
    }

    double speed() const {
        std::lock_guard<std::mutex> lock(m_mutex);
        return m_status.speed;
    }

    /// Counts a complete pass of a film. If the film does not repeat, holds the film at the end.
    void beginAgain() {
        std::lock_guard<std::mutex> lock(m_mutex);
        ++m_status.passes;
        if (!m_status.repeats) m_status.held = true;
    }

    /// Waits while the film is held, then seeks to the requested frame. Returns false if the reader stops.
    bool advance(Source& source, Steady::time_point& due) {
        std::optional<std::int64_t> target;
        {
            std::unique_lock<std::mutex> lock(m_mutex);
            const bool waits = m_status.held;
            m_changed.wait(lock, [this] { return m_stop || !m_status.held || commanded(); });
            if (m_stop) return false;
            target = std::exchange(m_seek, std::nullopt);
            if (!target && m_step < 0) target = std::max<std::int64_t>(0, m_status.position - 1);
            m_step = 0;
            if (waits) due = Steady::now();
        }
        if (target && source.seek(*target)) due = Steady::now();
        return true;
    }

    bool commanded() const { return m_seek || m_step != 0; }

    void countBad(const SourceProblem& problem) {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_status.problem = redacted(problem);
        if (!m_bad.insert(m_status.message()).second) return;  // already counted in an earlier pass
        ++m_status.bad;
        if (m_status.unreadable.size() < kMostListed) m_status.unreadable.push_back(m_status.problem);
    }

    void enter(SourceState state) {
        if (m_status.state == state) return;
        m_status.state = state;
        m_status.since = System::now();
    }

    void finish(SourceState state) {
        std::lock_guard<std::mutex> lock(m_mutex);
        enter(state);
        m_over = true;
        m_changed.notify_all();
    }

    const Make m_make;
    const ReaderOptions m_options;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    Random m_random{std::random_device{}()};
    SourceStatus m_status;
    const Steady::time_point m_begun = Steady::now();  // Frame::seconds of a live source counts from here
    const System::time_point m_started = System::now();
    Steady::time_point m_lastFrame = Steady::now();
    Steady::duration m_gap{}, m_gapBefore{};  // the two latest gaps between frames
    Steady::time_point m_nextAttempt = Steady::now();
    std::set<std::string> m_bad;
    Frame m_slot;
    bool m_full = false;
    bool m_stop = false;
    bool m_over = false;
    bool m_looping = false;
    std::optional<std::int64_t> m_seek;
    int m_step = 0;  // frames to step; negative: back
};

Reader::Reader(Make make, const ReaderOptions& options)
    : m_worker(std::make_shared<Worker>(std::move(make), options)) {
    std::thread([worker = m_worker] { worker->run(); }).detach();
}

Reader::Reader(const Address& source, const ReaderOptions& options, const SourceOptions& sourceOptions)
    : Reader([source, sourceOptions] { return makeSource(source, sourceOptions); }, options) {}

Reader::~Reader() {
    m_worker->update([](Worker& worker) { worker.m_stop = true; });
    if (!m_worker->waitUntilDone(kStopPatience)) noteLeftBehind();
}

bool Reader::take(Frame& frame, milliseconds wait) {
    return m_worker->take(frame, wait);
}

void Reader::setHeld(bool held) {
    m_worker->update([&](Worker& worker) { worker.m_status.held = held; });
}

void Reader::seek(std::int64_t frame) {
    m_worker->update([&](Worker& worker) { worker.m_seek = frame; });
}

void Reader::step(int direction) {
    m_worker->update([&](Worker& worker) { worker.m_step = direction; });
}

void Reader::setSpeed(double speed) {
    m_worker->update([&](Worker& worker) { worker.m_status.speed = speed; });
}

void Reader::setLoop(bool loop) {
    m_worker->update([&](Worker& worker) { worker.m_status.repeats = loop; });
}

bool Reader::running() const {
    return m_worker->running();
}

SourceStatus Reader::status() const {
    return m_worker->status();
}

}  // namespace mpm::pipeline
