#include "gui/services/video_recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <QFileInfo>

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "base/private_files.hpp"
#include "gui/text/safe_text.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kApart{1000 / VideoRecorder::kRate};  // time between two frames of a file
constexpr std::size_t kMostWaiting = 200;  // if more wait (slow disk), frames are dropped
constexpr int kStrip = 22;                 // pixels under the image, for the text

cv::Mat annotated(const QImage& image, const QString& text) {
    const QImage bgr = image.convertToFormat(QImage::Format_BGR888);
    const cv::Mat seen(bgr.height(), bgr.width(), CV_8UC3, const_cast<uchar*>(bgr.constBits()),
                       static_cast<std::size_t>(bgr.bytesPerLine()));
    // The sides are even, because most encoders need even sides.
    cv::Mat frame((seen.rows + kStrip + 1) / 2 * 2, (seen.cols + 1) / 2 * 2, CV_8UC3, cv::Scalar::all(20));
    seen.copyTo(frame(cv::Rect(0, 0, seen.cols, seen.rows)));
    pipeline::TextStyle style;
    style.height = 9;
    style.colour = cv::Scalar::all(235);
    pipeline::drawText(frame, text.toStdString(), {6, seen.rows + kStrip - 7}, style);
    return frame;
}

/// Returns the image, made smaller if it is large: a few seconds of large images would fill the memory.
QImage fitted(const QImage& image) {
    if (image.width() <= VideoRecorder::kWidest) return image;
    const QImage from = image.convertToFormat(QImage::Format_RGB32);
    QImage to(VideoRecorder::kWidest, image.height() * VideoRecorder::kWidest / image.width(),
              QImage::Format_RGB32);
    const cv::Mat large(from.height(), from.width(), CV_8UC4, const_cast<uchar*>(from.constBits()),
                        static_cast<std::size_t>(from.bytesPerLine()));
    cv::Mat small(to.height(), to.width(), CV_8UC4, to.bits(), static_cast<std::size_t>(to.bytesPerLine()));
    cv::resize(large, small, small.size(), 0, 0, cv::INTER_AREA);
    return to;
}

/// A video that is being written. Frames are repeated, so that the video plays at the speed of the scene.
class Film {
public:
    Film(QString file, std::chrono::milliseconds longestStill)
        : m_file(std::move(file)), m_longestStill(longestStill) {}
    const QString& file() const { return m_file; }
    int frames() const { return m_frames; }

    void write(const cv::Mat& frame, std::chrono::steady_clock::time_point time) {
        if (!m_writer.isOpened()) open(frame.size(), time);
        cv::Mat fitted = frame;
        if (frame.size() != m_size) cv::resize(frame, fitted, m_size);  // a video may show several sources
        for (const int due = std::max(m_frames + 1, dueAt(time)); m_frames < due; ++m_frames)
            m_writer.write(fitted);
        m_last = fitted;
    }

    /// Repeats the last frame until `time`, so that dropped frames do not shorten the file.
    void end(std::chrono::steady_clock::time_point time) {
        for (const int due = m_frames > 0 ? dueAt(time) : 0; m_frames < due; ++m_frames)
            m_writer.write(m_last);
    }

private:
    /// Returns how many frames the file should have at `time`.
    int dueAt(std::chrono::steady_clock::time_point time) {
        const auto still = time - m_begun - m_frames * kApart;
        if (still > m_longestStill) m_begun += still - m_longestStill;
        return static_cast<int>(std::chrono::duration<double>(time - m_begun).count() * VideoRecorder::kRate);
    }

    void open(cv::Size size, std::chrono::steady_clock::time_point time) {
        m_size = size;
        m_begun = time;
        makeFile();
        // Browsers play H.264. If no H.264 encoder is installed, uses MPEG-4, which is always available. VP9
        // is too slow.
        const auto opens = [&](const char* code) {
            const int codec = cv::VideoWriter::fourcc(code[0], code[1], code[2], code[3]);
            return m_writer.open(m_file.toStdString(), cv::CAP_FFMPEG, codec, VideoRecorder::kRate, size);
        };
        if (!opens("avc1") && !opens("mp4v"))
            throw std::runtime_error(
                VideoRecorder::tr("the video cannot be written; check the folder and the space")
                    .toStdString());
    }

    /// Makes an empty private file, so that the encoder does not write into another user's file.
    void makeFile() {
        makePrivateFolders(QFileInfo(m_file).absolutePath().toStdString());
        const QString wanted = m_file;
        for (int i = 2; QFileInfo::exists(m_file) || QFileInfo(m_file).isSymLink(); ++i)
            m_file = wanted.chopped(4) + QStringLiteral("-%1.mp4").arg(i);
        ::close(openPrivate(m_file.toStdString(), O_EXCL));
    }

    QString m_file;
    const std::chrono::milliseconds m_longestStill;
    cv::VideoWriter m_writer;
    cv::Size m_size;
    cv::Mat m_last;
    std::chrono::steady_clock::time_point m_begun;
    int m_frames = 0;
};

}  // namespace

VideoRecorder::~VideoRecorder() {
    stopRecording();
    finish();
}

void VideoRecorder::close() {
    stopRecording();
    finish();
    while (runNext()) {
    }
}

void VideoRecorder::addTask(Task task) {
    m_tasks.push_back(std::move(task));
    m_changed.notify_all();
}

void VideoRecorder::trim(Clock::time_point now) {
    while (!m_kept.empty() && now - m_kept.front().time > kBefore)
        m_kept.pop_front();
}

void VideoRecorder::add(const QImage& image, const QString& text) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    const Clock::time_point now = Clock::now();
    stopIfDue(now);
    // Drops images that come faster than the file's frame rate, which also saves memory.
    if (!m_kept.empty() && now - m_kept.back().time < kApart) return;
    const Still still{fitted(image), text, now};
    if (m_recording && m_tasks.size() < kMostWaiting) addTask({Task::Write, {}, still, {}});
    m_kept.push_back(still);
    trim(now);
}

void VideoRecorder::stopIfDue(Clock::time_point now) {
    if (!m_recording || !m_until || now < *m_until) return;
    m_recording = false;
    addTask({Task::Stop, {}, {}, *m_until});
}

void VideoRecorder::begin(const QString& file, std::optional<Clock::time_point> until) {
    m_recording = true;
    m_until = until;
    trim(Clock::now());
    addTask({Task::Start, file, {}, {}});
    if (!until) return;
    for (const Still& still : m_kept)
        addTask({Task::Write, {}, still, {}});
}

void VideoRecorder::startRecording(const QString& file) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (m_recording) {
        m_until.reset();  // a recording around an alert now continues until it is stopped
        return;
    }
    begin(file, std::nullopt);
}

void VideoRecorder::stopRecording() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (!std::exchange(m_recording, false)) return;
    const Clock::time_point now = Clock::now(), until = m_until.value_or(now);
    m_until.reset();
    addTask({Task::Stop, {}, {}, std::min(now, until)});
}

bool VideoRecorder::recordsByHand() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_recording && !m_until;
}

/// Ends recording after a failure. If a new recording waits in the queue, does nothing.
void VideoRecorder::noteFailure() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    for (const Task& task : m_tasks)
        if (task.kind == Task::Start) return;
    m_recording = false;
    m_until.reset();
}

void VideoRecorder::recordAround(const QString& file) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    const Clock::time_point until = Clock::now() + kAfter;
    if (!m_recording)
        begin(file, until);
    else if (m_until)
        m_until = until;
}

void VideoRecorder::forget() {
    stopRecording();
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_kept.clear();
}

void VideoRecorder::work() {
    std::unique_ptr<Film> film;
    const auto close = [&] {
        if (!film) return;
        const QString file = film->file();
        const int frames = film->frames();
        film.reset();  // the destructor completes the file
        if (frames > 0) post([this, file, frames] { emit finished(file, frames); });
    };
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        const auto due = [this] { return stopping() || !m_tasks.empty(); };
        // Ends a recording at `m_until`, even if no more frames come.
        for (auto until = m_until; m_recording && until && !m_changed.wait_until(lock, *until, due);
             until = m_until)
            stopIfDue(Clock::now());
        m_changed.wait(lock, due);
        if (m_tasks.empty()) break;  // ends only after all waiting frames are written
        const Task task = std::move(m_tasks.front());
        m_tasks.pop_front();
        lock.unlock();
        try {
            if (task.kind == Task::Stop && film) film->end(task.end);
            if (task.kind != Task::Write) close();
            if (task.kind == Task::Start) {
                film = std::make_unique<Film>(task.file, m_longestStill);
                post([this, file = task.file] { emit started(file); });
            } else if (task.kind == Task::Write && film) {
                film->write(annotated(task.still.image, task.still.text), task.still.time);
            }
        } catch (const std::exception& error) {
            const QString file = film ? film->file() : task.file;
            film.reset();
            noteFailure();
            post([this, file, message = safeText(error.what(), 1000)] { emit failed(file, message); });
        }
    }
    close();
}

}  // namespace mpm::gui
