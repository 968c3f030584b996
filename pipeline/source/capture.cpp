#include "pipeline/source/capture.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio/registry.hpp>

#include "pipeline/image/read.hpp"
#include "pipeline/source/video_file.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::int64_t kMostPacketBytes = 512 << 20;  // enough for 100 million pixels, compressed or decoded
constexpr std::int64_t kBytesOfPixel = 8;  // in the decoded frame, the BGR frame and a copy, together

/// Limits each allocation by FFmpeg, because a server may announce gigabytes, and OpenCV has no such limit.
/// Does nothing if OpenCV has no FFmpeg.
void limitFfmpeg() {
    using Limit = void (*)(std::size_t);
    if (const auto limit = reinterpret_cast<Limit>(dlsym(RTLD_DEFAULT, "av_max_alloc")))
        limit(static_cast<std::size_t>(std::min(kMostPacketBytes, maxImageBytes())));
}

cv::Mat toBgr(const cv::Mat& image) {
    cv::Mat bgr;
    if (image.depth() == CV_8U && image.channels() == 3) return image.clone();
    if (image.depth() == CV_8U && image.channels() == 1) cv::cvtColor(image, bgr, cv::COLOR_GRAY2BGR);
    if (image.depth() == CV_8U && image.channels() == 4) cv::cvtColor(image, bgr, cv::COLOR_BGRA2BGR);
    return bgr;
}

/// Returns the four letters of a codec ("h264"), or an empty string if any of them is not printable.
std::string lettersOf(double fourcc) {
    if (!(fourcc > 0 && fourcc < 4294967296.0)) return {};
    const auto code = static_cast<std::uint32_t>(fourcc);
    std::string letters;
    for (int shift = 0; shift < 32; shift += 8) {
        const char letter = static_cast<char>(code >> shift & 0xff);
        if (letter <= ' ' || letter > '~') return {};
        letters += letter;
    }
    return letters;
}

}  // namespace

CaptureSource::CaptureSource(SourceKind kind, Address address, const SourceOptions& options)
    : m_kind(kind), m_address(std::move(address)), m_options(options), m_live(kind != SourceKind::Video) {}

bool CaptureSource::openCapture() {
    const std::string& text = m_address.reveal();
    switch (m_kind) {
        // Names the backends, because CAP_ANY also tries photo cameras on USB, which is slow and leaks
        // memory.
        case SourceKind::Camera:
            return m_capture.open(std::stoi(text), cv::CAP_V4L2);
        case SourceKind::Pipeline:
            return m_capture.open(text.substr(4), cv::CAP_GSTREAMER);
        case SourceKind::Stream: {
            // Names the backend, because OpenCV ignores time-outs with CAP_ANY.
            const std::vector<int> timeouts = {
                cv::CAP_PROP_OPEN_TIMEOUT_MSEC, static_cast<int>(m_options.openTimeout.count()),
                cv::CAP_PROP_READ_TIMEOUT_MSEC, static_cast<int>(m_options.readTimeout.count())};
            if (namesPlaylist(text)) m_relay = std::make_unique<HostRelay>(text);
            const FfmpegOpening rules(m_relay ? m_relay->port() : 0);
            return m_capture.open(text, cv::CAP_FFMPEG, timeouts);
        }
        default:
            const FfmpegOpening rules;
            // Uses GStreamer only if OpenCV has no FFmpeg, because GStreamer prints long errors about files
            // that are not videos.
            if (!m_capture.open(text, cv::CAP_FFMPEG) && !cv::videoio_registry::hasBackend(cv::CAP_FFMPEG))
                m_capture.open(text, cv::CAP_GSTREAMER);
            return m_capture.isOpened() || m_capture.open(text, cv::CAP_OPENCV_MJPEG);
    }
}

/// Returns the problem to report if the source could not be opened.
SourceProblem::Kind CaptureSource::problem() const {
    using Problem = SourceProblem::Kind;
    constexpr Problem kProblems[] = {Problem::NoSuchCamera, Problem::CannotConnect, Problem::PipelineRejected,
                                     Problem::NotAVideo};
    return kProblems[static_cast<int>(m_kind)];
}

void CaptureSource::checkRelay() const {
    if (m_relay && m_relay->refused()) throw SourceError(SourceProblem::Kind::PlaylistElsewhere, name());
}

/// Checks a file before a backend opens it, because opening a pipe blocks.
void CaptureSource::checkFile() const {
    const std::string& text = m_address.reveal();
    const std::string scheme = "file:";
    const bool url = text.compare(0, scheme.size(), scheme) == 0;
    if (m_kind != SourceKind::Video && !url) return;
    if (const auto why = whyNoVideo(url ? text.substr(scheme.size()) : text)) throw SourceError(*why, name());
}

void CaptureSource::open() {
    prepareFfmpeg();
    limitFfmpeg();
    m_capture.release();
    m_relay.reset();
    checkFile();
    bool opened = false;
    try {
        opened = openCapture() && m_capture.isOpened();
    } catch (const cv::Exception&) {
        opened = false;  // the message may quote the address with the password
    }
    checkRelay();
    if (!opened) throw SourceError(problem(), name());
    m_number = 0;
    m_opened = std::chrono::steady_clock::now();
    readProperties();
    checkSize();
}

/// Checks the size in the header, before a backend allocates memory for frames of this size.
void CaptureSource::checkSize() {
    const double width = m_capture.get(cv::CAP_PROP_FRAME_WIDTH);
    const double height = m_capture.get(cv::CAP_PROP_FRAME_HEIGHT);
    if (!(width >= 1 && width < 1e9 && height >= 1 && height < 1e9)) return;  // the size is not known yet
    try {
        checkImageSize(static_cast<std::int64_t>(width), static_cast<std::int64_t>(height), kBytesOfPixel);
    } catch (const ImageError& error) {
        m_capture.release();
        throw SourceError(SourceProblem::Kind::Other, name(), {error.what()});
    }
}

void CaptureSource::readProperties() {
    const double rate = m_capture.get(cv::CAP_PROP_FPS);
    const double length = m_capture.get(cv::CAP_PROP_FRAME_COUNT);
    m_rate = std::isfinite(rate) && rate > 0 && rate < 1000 ? rate : 0;
    const bool counted = std::isfinite(length) && length >= 1 && length < 1e12;
    m_length = counted && m_kind != SourceKind::Camera ? static_cast<std::int64_t>(length) : -1;
    m_codec = lettersOf(m_capture.get(cv::CAP_PROP_FOURCC));
    // A stream with a length is a clip over HTTP, which waits for the reader; a camera has no length.
    if (m_kind == SourceKind::Stream) m_live = m_length < 2;
    if (m_kind == SourceKind::Camera) m_capture.set(cv::CAP_PROP_BUFFERSIZE, 1);
}

bool CaptureSource::next(Frame& frame) {
    cv::Mat image;
    bool got = false;
    try {
        got = m_capture.read(image);
    } catch (const cv::Exception&) {
        got = false;
    }
    checkRelay();
    if (!got || image.empty()) {
        if (brokenFile())
            throw SourceError(SourceProblem::Kind::VideoDamaged, name(),
                              {std::to_string(m_number), std::to_string(m_length)});
        if (m_kind == SourceKind::Pipeline || !m_live) return false;
        throw SourceError(SourceProblem::Kind::StreamBroke, name(), {std::to_string(m_number)});
    }
    frame.image = toBgr(image);
    if (frame.image.empty()) throw SourceError(SourceProblem::Kind::NotEightBit, name());
    frame.number = m_number++;
    frame.time = std::chrono::system_clock::now();
    frame.name = frameName();
    frame.seconds = !m_live && m_rate > 0
                        ? static_cast<double>(frame.number) / m_rate
                        : std::chrono::duration<double>(std::chrono::steady_clock::now() - m_opened).count();
    return true;
}

bool CaptureSource::seek(std::int64_t frame) {
    if (m_live || m_length < 1) return false;
    const std::int64_t to = std::clamp<std::int64_t>(frame, 0, m_length - 1);
    try {
        if (!m_capture.set(cv::CAP_PROP_POS_FRAMES, static_cast<double>(to))) return false;
    } catch (const cv::Exception&) {
        return false;
    }
    m_number = to;
    return true;
}

/// Returns whether a file is damaged or its connection broke: more than 5 frames and more than 10 % of the
/// announced frames are missing. Fewer missing frames are normal, because containers store inexact lengths.
bool CaptureSource::brokenFile() const {
    const bool file = m_kind == SourceKind::Video || (m_kind == SourceKind::Stream && !m_live);
    return file && m_length > 0 && m_number + std::max(5.0, 0.1 * m_length) < m_length;
}

std::string CaptureSource::frameName() const {
    std::string stem = "frame";
    // Results of a frame are stored in files with the frame's name, and everybody can see file names. So the
    // name does not contain the address of a source from env: or secret:.
    if (m_kind == SourceKind::Video && !m_address.isNamed())
        stem = std::filesystem::path(m_address.shown()).stem().string();
    if (m_kind == SourceKind::Camera) stem = "camera" + m_address.reveal();
    char number[32];
    std::snprintf(number, sizeof number, "_%06lld", static_cast<long long>(m_number - 1));
    return stem + number;
}

}  // namespace mpm::pipeline
