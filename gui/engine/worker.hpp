// A thread with one task, its own end, and no way to leave it running by accident.
#pragma once

#include <atomic>

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

protected:
    virtual void work() = 0;  ///< runs in the thread until stopping()
    virtual void wake() = 0;  ///< makes a waiting work() look at stopping()
    bool stopping() const { return m_stopping; }

private:
    void run() final;

    std::atomic<bool> m_stopping{false};
};

}  // namespace mpm::gui
