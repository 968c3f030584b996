// Annotated video: by hand, and around alerts with the seconds before them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include <QDateTime>
#include <QImage>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// Writes in a thread of its own; every call returns at once.
class VideoRecorder : public Worker {
    Q_OBJECT
public:
    explicit VideoRecorder(QObject* parent = nullptr);
    /// Closes what is being written.
    ~VideoRecorder() override;

    /// One drawn frame with the words to be written under it. Kept for some seconds, in case an alert comes.
    void add(const QImage& picture, const QString& words);
    /// By hand: until stopRecording(). The file's name ends in .mp4.
    void startRecording(const QString& file);
    void stopRecording();
    /// Waits until the file is whole, and says so before it returns. Nothing is recorded after it.
    void close();
    /// From some seconds before now to some after; a recording that runs already is only prolonged.
    void recordAround(const QString& file);
    /// Drops what is kept: pictures are not wanted any more.
    void forget();

    static constexpr std::chrono::seconds kBefore{5}, kAfter{10};
    static constexpr int kRate = 10;  ///< frames a second in the file; pictures are repeated to keep its time

signals:
    void started(const QString& file);
    void finished(const QString& file, int frames);
    void failed(const QString& file, const QString& message);

protected:
    void work() override;
    void wake() override;

private:
    using Clock = std::chrono::steady_clock;
    struct Still {
        QImage picture;
        QString words;
        Clock::time_point time;
    };
    /// What is to be done next, in order.
    struct Task {
        enum Kind { Start, Write, Stop } kind;
        QString file;
        Still still;
    };
    void begin(const QString& file, std::optional<Clock::time_point> until);
    void post(Task task);
    void trim(Clock::time_point now);

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Still> m_kept;  // guarded by m_mutex, as all below
    std::deque<Task> m_tasks;
    bool m_recording = false;
    std::optional<Clock::time_point> m_until;  // absent while recording: by hand
};

}  // namespace mpm::gui
