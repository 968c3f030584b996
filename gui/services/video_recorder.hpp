// Annotated video: started by the user, or around alerts with the seconds before them.
#pragma once

#include <deque>

#include <QImage>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// Writes in a thread of its own; every call returns at once.
class VideoRecorder : public Worker {
    Q_OBJECT
public:
    /// `longestStill`: an image is repeated for so long at most, so an outage of the source is shortened.
    explicit VideoRecorder(std::chrono::milliseconds longestStill = kBefore + kAfter)
        : Worker("video"), m_longestStill(longestStill) {}
    /// Completes the file being written.
    ~VideoRecorder() override;

    /// Adds a drawn frame with the text under it; it is kept for some seconds, for a recording around an
    /// alert.
    void add(const QImage& image, const QString& text);
    /// Records until stopRecording(). `file` ends in .mp4.
    void startRecording(const QString& file);
    void stopRecording();
    /// False too if the recording failed.
    bool recordsByHand() const;
    /// Waits until the file is complete, and emits finished() before it returns. Ends recording for good.
    void close();
    /// Records from some seconds before now to some after now; a recording in progress is only prolonged.
    void recordAround(const QString& file);
    /// Drops the images kept so far, for privacy.
    void forget();

    static constexpr std::chrono::seconds kBefore{5}, kAfter{10};
    static constexpr int kWidest = 1280;  ///< wider images are made smaller
    static constexpr int kRate = 10;  ///< frames a second in the file; images are repeated to keep its time

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
    /// Work for the thread, in order.
    struct Task {
        enum Kind { Start, Write, Stop } kind;
        QString file;
        Still still;
        Clock::time_point end{};  ///< of Stop: the file is as long as the recording
    };
    void begin(const QString& file, std::optional<Clock::time_point> until);
    void addTask(Task task);
    void trim(Clock::time_point now);
    void stopIfDue(Clock::time_point now);
    void noteFailure();

    const std::chrono::milliseconds m_longestStill;
    std::deque<Still> m_kept;  // guarded by m_mutex, as are all below
    std::deque<Task> m_tasks;
    bool m_recording = false;
    std::optional<Clock::time_point> m_until;  // absent while recording: until it is stopped
};

}  // namespace mpm::gui
