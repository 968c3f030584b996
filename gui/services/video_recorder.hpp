// Records annotated videos, which the user or an alert starts. The video of an alert also shows the seconds
// before the alert.
#pragma once

#include <deque>

#include <QImage>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// A thread that writes the videos; every call returns immediately.
class VideoRecorder : public Worker {
    Q_OBJECT
public:
    /// `longestStill`: longest time for which an image is repeated; the video skips the rest of a longer
    /// outage of the source.
    explicit VideoRecorder(std::chrono::milliseconds longestStill = kBefore + kAfter)
        : Worker("video"), m_longestStill(longestStill) {}
    /// Completes the file that is being written.
    ~VideoRecorder() override;

    /// Adds a drawn frame with the text below it, and keeps the frame for some seconds in case an alert
    /// starts a recording.
    void add(const QImage& image, const QString& text);
    /// Records until stopRecording(). `file`: must end in .mp4.
    void startRecording(const QString& file);
    void stopRecording();
    /// Returns whether a recording that the user started is in progress and has not failed.
    bool recordsByHand() const;
    /// Ends the recording and the thread. Emits finished() and returns when the file is complete.
    void close();
    /// Records from now - kBefore to now + kAfter. Extends a recording around an earlier alert instead, if
    /// one is in progress. Does nothing during a recording by hand.
    void recordAround(const QString& file);
    /// Ends the recording, and drops the images kept so far, for privacy.
    void forget();

    static constexpr std::chrono::seconds kBefore{5}, kAfter{10};
    static constexpr int kWidest = 1280;  ///< wider images are made smaller
    static constexpr int kRate = 10;      ///< frames a second in the file; if fewer come, images are repeated

signals:
    void started(const QString& file);
    void finished(const QString& file, int frames);
    void failed(const QString& file, const QString& message);

protected:
    void work() override;

private:
    using Clock = std::chrono::steady_clock;
    struct Still {
        QImage image;
        QString text;
        Clock::time_point time;
    };
    struct Task {
        enum Kind { Start, Write, Stop } kind;
        QString file;
        Still still;
        Clock::time_point end{};  ///< for Stop: the time until which the last frame is repeated
    };
    void begin(const QString& file, std::optional<Clock::time_point> until);
    void addTask(Task task);
    void trim(Clock::time_point now);
    void stopIfDue(Clock::time_point now);
    void noteFailure();

    const std::chrono::milliseconds m_longestStill;
    std::deque<Still> m_kept;  // m_mutex guards this and all members below
    std::deque<Task> m_tasks;
    bool m_recording = false;
    std::optional<Clock::time_point> m_until;  // end of the recording; absent: stopRecording() ends it
};

}  // namespace mpm::gui
