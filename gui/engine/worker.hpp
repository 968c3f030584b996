// A thread with one task, its own end, and no way to leave it running by accident.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include <QThread>

namespace mpm::gui {

class Worker : public QThread {
    Q_OBJECT
public:
    explicit Worker(const char* name, QObject* parent = nullptr);
    ~Worker() override;

    /// Tells the thread to end, without waiting for it.
    void stop();
    /// Tells it and waits. Subclasses call it first thing in their destructor, while their members still
    /// live.
    void finish();

signals:
    /// Something nobody expected; the thread has ended.
    void broke(const QString& message);
    /// A message waits to be heard. Carries nothing: what a queued signal carries is handed over by a lock
    /// inside Qt, which ThreadSanitizer does not see.
    void told();

protected:
    virtual void work() = 0;  ///< runs in the thread until stopping()
    virtual void wake() = 0;  ///< makes a waiting work() look at stopping()
    bool stopping() const { return m_stopping; }

    /// Of the thread: has `message`, which mostly emits a signal, run where this object lives. Messages keep
    /// their order; the destructor drops those not heard yet.
    void tell(std::function<void()> message);
    /// Runs the oldest message here and now; false where there is none.
    bool hear();

private:
    void run() final;

    std::atomic<bool> m_stopping{false}, m_ended{false};
    std::mutex m_guard;
    std::deque<std::function<void()>> m_messages;  // guarded by m_guard
};

}  // namespace mpm::gui
