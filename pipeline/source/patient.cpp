#include "pipeline/source/patient.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace mpm::pipeline {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{100};            // time between calls to GiveUp
constexpr std::chrono::milliseconds kReadPatience{1'000};  // longest wait for a read after giving up

std::atomic<bool> g_leftBehind{false};

}  // namespace

bool anyLeftBehind() {
    return g_leftBehind;
}

void noteLeftBehind() {
    g_leftBehind = true;
}

/// The state that a PatientSource and its thread share and both own, because either may end first.
class PatientSource::Worker {
public:
    explicit Worker(std::unique_ptr<Source> source) : m_source(std::move(source)) {}

    void run() {
        std::unique_lock<std::mutex> lock(m_mutex);
        for (;;) {
            m_changed.wait(lock, [this] { return m_work || m_quit; });
            if (!m_work) break;
            const std::function<void()> work = std::move(m_work);
            m_work = nullptr;
            lock.unlock();
            std::exception_ptr error;
            try {
                work();
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            m_error = error;
            m_done = true;
            m_changed.notify_all();
        }
        lock.unlock();
        m_source.reset();
        lock.lock();
        m_over = true;
        m_changed.notify_all();
    }

    void post(std::function<void()> work) {
        std::lock_guard<std::mutex> lock(m_mutex);
        m_work = std::move(work);
        m_done = false;
        m_changed.notify_all();
    }

    bool wait(std::chrono::milliseconds time) {
        std::unique_lock<std::mutex> lock(m_mutex);
        return m_changed.wait_for(lock, time, [this] { return m_done; });
    }

    void rethrow() {
        std::lock_guard<std::mutex> lock(m_mutex);
        if (m_error) std::rethrow_exception(std::exchange(m_error, nullptr));
    }

    /// Asks the thread to end. Returns false if the thread does not end in time, because a read still hangs.
    bool quit() {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_quit = true;
        m_changed.notify_all();
        return m_changed.wait_for(lock, kReadPatience, [this] { return m_over; });
    }

    Source& source() { return *m_source; }

private:
    std::unique_ptr<Source> m_source;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::function<void()> m_work;
    std::exception_ptr m_error;
    bool m_done = true, m_quit = false, m_over = false;
};

PatientSource::PatientSource(std::unique_ptr<Source> source, GiveUp giveUp,
                             std::chrono::milliseconds firstFrame)
    : m_giveUp(std::move(giveUp)), m_firstFrame(firstFrame), m_name(source->name()) {
    m_worker = std::make_shared<Worker>(std::move(source));
    std::thread([worker = m_worker] { worker->run(); }).detach();
}

PatientSource::~PatientSource() {
    if (!m_worker->quit()) noteLeftBehind();
}

void PatientSource::call(std::function<void()> work) {
    if (!m_worker->wait(std::chrono::milliseconds(0)))
        throw LeftBehind(SourceProblem::Kind::StillReading, m_name);
    m_worker->post(std::move(work));
    const auto start = Clock::now();
    while (!m_worker->wait(kLook)) {
        const auto time = Clock::now() - start;
        const bool late = m_firstFrame && time >= *m_firstFrame;
        if (!late && !m_giveUp(std::chrono::duration<double>(time).count())) continue;
        if (m_worker->wait(kReadPatience)) break;
        throw LeftBehind(SourceProblem::Kind::NoFrameInTime, m_name);
    }
    m_worker->rethrow();
}

void PatientSource::open() {
    call([worker = m_worker] { worker->source().open(); });
}

bool PatientSource::seek(std::int64_t frame) {
    const auto can = std::make_shared<bool>(false);
    call([worker = m_worker, can, frame] { *can = worker->source().seek(frame); });
    return *can;
}

bool PatientSource::next(Frame& frame) {
    struct Result {
        Frame frame;
        bool more = false;
    };
    const auto result = std::make_shared<Result>();  // the thread may use the result after the caller gave up
    call([worker = m_worker, result] { result->more = worker->source().next(result->frame); });
    m_firstFrame.reset();
    if (result->more) frame = std::move(result->frame);
    return result->more;
}

bool PatientSource::live() const {
    return m_worker->source().live();
}

std::int64_t PatientSource::length() const {
    return m_worker->source().length();
}

double PatientSource::rate() const {
    return m_worker->source().rate();
}

}  // namespace mpm::pipeline
