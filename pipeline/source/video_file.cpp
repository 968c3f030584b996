#include "pipeline/source/video_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "base/printable.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::size_t kHead = 8192;            // bytes of a file that are checked
constexpr std::chrono::seconds kPatience{30};  // longest wait for other sources to open

std::string bytesAt(int file, off_t at) {
    std::string bytes(kHead, '\0');
    const ssize_t count = pread(file, bytes.data(), bytes.size(), at);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
}

/// Returns the end of the ID3 tags at the beginning of a file. FFmpeg skips these tags, so a playlist may
/// follow them.
off_t endOfTags(int file) {
    constexpr int kMostTags = 16;
    off_t at = 0;
    for (int tag = 0; tag < kMostTags; ++tag) {
        const std::string head = bytesAt(file, at);
        if (head.size() < 10 || head.compare(0, 3, "ID3") != 0) break;
        off_t size = 10;
        for (int i = 6; i < 10; ++i)
            size += static_cast<off_t>(head[static_cast<std::size_t>(i)] & 0x7f) << 7 * (9 - i);
        at += size + ((head[5] & 0x10) != 0 ? 10 : 0);
    }
    return at;
}

bool contains(const std::string& text, std::string_view word) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

/// Returns whether `head` is text, as most playlists are; false for YUV4MPEG, a video format with a text
/// header.
bool isText(std::string head) {
    if (head.empty() || head.rfind("YUV4MPEG2 ", 0) == 0) return false;
    for (int cut = 0; cut < 3 && head.size() == kHead - static_cast<std::size_t>(cut) && !isUtf8(head); ++cut)
        head.pop_back();  // kHead may cut the last character
    const auto control = [](unsigned char c) {
        return c < 32 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
    };
    return isUtf8(head) && std::none_of(head.begin(), head.end(), control);
}

bool isPlaylist(const std::string& head) {
    for (const std::string_view begin : {"#EXTM3U", "ffconcat version"})
        if (head.compare(0, begin.size(), begin) == 0) return true;
    return isText(head) || contains(head, "<MPD") || contains(head, "<CompositionPlaylist");
}

/// Formats that name other files or hosts, listen on the network, or run scripts.
const std::set<std::string> kRejectedFormats = {
    "alias_pix", "applehttp", "avisynth", "brender_pix", "concat", "dash",        "hls",
    "image2",    "imf",       "sap",      "sdp",         "vobsub", "vapoursynth", "webm_dash_manifest"};

/// Returns the names of FFmpeg's formats that are not in kRejectedFormats, each after a comma; empty if
/// OpenCV has no FFmpeg.
std::string acceptedFormats() {
    struct Demuxer {
        const char* name;  // first member in all versions of FFmpeg; such as "mov,mp4,m4a"
    };
    using Iterate = const Demuxer* (*)(void**);
    const auto iterate = reinterpret_cast<Iterate>(dlsym(RTLD_DEFAULT, "av_demuxer_iterate"));
    std::string names;
    void* place = nullptr;
    for (const Demuxer* demuxer = iterate != nullptr ? iterate(&place) : nullptr; demuxer != nullptr;
         demuxer = iterate(&place))
        if (kRejectedFormats.count(demuxer->name) == 0) names += std::string(",") + demuxer->name;
    return names;
}

/// Returns "user:password@" of the proxy in the user's http_proxy; empty if http_proxy names no user. FFmpeg
/// sends these credentials to HostRelay, which passes them on to that proxy.
std::string credentialsOfProxy() {
    const char* set = std::getenv("http_proxy");
    const std::string proxy = set != nullptr ? set : "", scheme = "http://";
    const std::size_t at = proxy.find('@'), end = proxy.find('/', scheme.size());
    if (proxy.rfind(scheme, 0) != 0 || at > end || at == std::string::npos) return {};
    const std::string found = proxy.substr(scheme.size(), at + 1 - scheme.size());
    return found.find_first_of("|;") == std::string::npos ? found : std::string();
}

/// The environment variable from which OpenCV reads FFmpeg's options at each opening.
class FormatList {
public:
    FormatList() {
        // Turns FFmpeg's log off, unless the user has set its level, because FFmpeg prints the address with
        // the password if a connection fails.
        setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);
        const std::string name = "OPENCV_FFMPEG_CAPTURE_OPTIONS", formats = acceptedFormats();
        const char* given = std::getenv(name.c_str());
        const std::string options = given != nullptr ? given : "rtsp_flags;prefer_tcp";  // OpenCV's default
        if (formats.empty()) return;
        const bool hasList = contains(options, "format_whitelist");
        m_text = name + "=" + options;
        if (!hasList) m_text += (options.empty() ? "" : "|") + ("format_whitelist;" + formats.substr(1));
        m_more = m_text.size();
        m_join = hasList ? '|' : ',';
        m_text += std::string(1, '\0') + (hasList ? "" : "hls|") + "http_proxy;http://" +
                  credentialsOfProxy() + "127.0.0.1:00000";
        // After putenv(), the environment points to m_text. So enter() can change the text without another
        // putenv(), which is unsafe while other threads read the environment.
        putenv(m_text.data());
    }

    /// Waits until the source may be opened. While a source is opened with a proxy, no other source may be
    /// opened. Returns false if the wait takes too long.
    bool enter(int proxy) {
        std::unique_lock<std::mutex> lock(m_mutex);
        if (m_text.empty()) return true;
        const bool alone = proxy != 0;
        m_waiting += alone;
        const bool free = m_changed.wait_for(
            lock, kPatience, [&] { return m_open == 0 || (!alone && !m_alone && m_waiting == 0); });
        m_waiting -= alone;
        if (!free) return false;
        m_alone = alone;
        m_text[m_more] = alone ? m_join : '\0';
        const std::string port = std::to_string(100'000 + proxy).substr(1);
        if (alone) m_text.replace(m_text.size() - port.size(), port.size(), port);
        ++m_open;
        return true;
    }
    void leave() {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (m_text.empty()) return;
        --m_open;
        m_changed.notify_all();
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::string m_text;
    std::size_t m_more = 0;  ///< length of the options without a proxy
    char m_join = ',';
    bool m_alone = false;
    int m_open = 0, m_waiting = 0;  ///< numbers of openings now, and of waiting openings with a proxy
};

/// Returns the only FormatList. Never destroys the object, because the environment points to the object's
/// text.
FormatList& formatList() {
    static FormatList* const list = new FormatList;
    return *list;
}

}  // namespace

std::optional<SourceProblem::Kind> whyNoVideo(const std::string& path) {
    using Kind = SourceProblem::Kind;
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return errno == EACCES ? Kind::PermissionDenied : Kind::NotAVideo;
    struct stat there {};
    std::optional<Kind> why;
    if (fstat(file, &there) != 0 || !S_ISREG(there.st_mode))
        why = Kind::NotAFile;
    else if (isPlaylist(bytesAt(file, endOfTags(file))))
        why = Kind::Playlist;
    close(file);
    return why;
}

void prepareFfmpeg() {
    formatList();
}

FfmpegOpening::FfmpegOpening(int proxy) {
    if (!formatList().enter(proxy)) throw SourceError(SourceProblem::Kind::StillReading, std::string());
}

FfmpegOpening::~FfmpegOpening() {
    formatList().leave();
}

}  // namespace mpm::pipeline
