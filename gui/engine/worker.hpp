// A thread that runs work(). The destructor of each subclass stops and joins the thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include <QThread>

namespace mpm::gui {

class Worker : public QThread {
    Q_OBJECT
public:
    /// @param niceness above 0 for long computations, so that the window has priority
    explicit Worker(const char* name, int niceness = 5);
    ~Worker() override { Q_ASSERT(!isRunning()); }

    /// Asks the thread to stop, without waiting for it.
    void stop();
    /// Asks the thread to stop, and waits. The destructor of each subclass must call finish() first, while
    /// the members of the subclass still exist.
    void finish();

signals:
    /// Emitted if an unexpected exception ends the thread.
    void crashed(const QString& message);
    /// Emitted when a message waits. The signal has no arguments, because Qt would pass them under a lock
    /// that ThreadSanitizer does not see.
    void posted();

protected:
    virtual void work() = 0;  ///< runs in the thread; must return if stopping()
    /// Wakes work(), so that it checks stopping().
    virtual void wake() {
        change([] {});
    }
    bool stopping() const { return m_stopping; }

    /// Changes the state that work() waits for, and wakes work().
    template <typename Body>
    void change(const Body& body) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        body();
        m_changed.notify_all();
    }
    mutable std::mutex m_mutex;  // guards the state that subclasses share with their thread
    std::condition_variable m_changed;

    /// May be called in any thread. The thread that owns this object runs `message` later. Usually,
    /// `message` emits a signal. Messages keep their order. The destructor drops messages that have not run.
    void post(std::function<void()> message);
    /// Runs the oldest message now. Returns false if there is none.
    bool runNext();

private:
    void run() final;

    const int m_niceness;
    std::atomic<bool> m_stopping{false}, m_ended{false};
    std::mutex m_guard;
    std::deque<std::function<void()>> m_messages;  // guarded by m_guard
};

}  // namespace mpm::gui
