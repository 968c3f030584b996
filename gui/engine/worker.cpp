#include "gui/engine/worker.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

Worker::Worker(const char* name, int niceness) : m_niceness(niceness) {
    setObjectName(QLatin1String(name));
    connect(this, &Worker::posted, this, &Worker::runNext, Qt::QueuedConnection);
}

void Worker::stop() {
    m_stopping = true;
    wake();
}

void Worker::finish() {
    stop();
    wait();
    m_ended.load(std::memory_order_acquire);  // wait() suffices, but ThreadSanitizer does not see its lock
}

void Worker::post(std::function<void()> message) {
    {
        const std::lock_guard<std::mutex> lock(m_guard);
        m_messages.push_back(std::move(message));
    }
    emit posted();
}

bool Worker::runNext() {
    std::unique_lock<std::mutex> lock(m_guard);
    if (m_messages.empty()) return false;
    const std::function<void()> message = std::move(m_messages.front());
    m_messages.pop_front();
    lock.unlock();
    message();  // from here on `this` must not be used, because the message may destroy it
    return true;
}

void Worker::run() {
    // Sets the niceness of this thread, and so of the threads that it starts.
    const auto thread = static_cast<id_t>(gettid());
    setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + m_niceness);
    try {
        work();
    } catch (const std::exception& error) {
        post([this, message = safeLines(error.what())] { emit crashed(message); });
    }
    m_ended.store(true, std::memory_order_release);
}

}  // namespace mpm::gui
