#include "pipeline/source/video_file.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "pipeline/source/address_parts.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::size_t kLargest = 1 << 20;  // bytes of a playlist
constexpr int kMostPlaylists = 32;

struct Split {
    std::string scheme, host, root;  ///< "https", "[::1]" without port, "https://user@[::1]:8443"
    bool http() const { return (scheme == "http" || scheme == "https") && !host.empty(); }
};

Split split(const std::string& address) {
    const std::size_t colon = address.find("://");
    if (colon == std::string::npos) return {};
    const std::size_t begin = colon + 3,
                      end = std::min(address.find_first_of("/?#\\", begin), address.size());
    std::string host = address.substr(begin, end - begin);
    host.erase(0, host.rfind('@') + 1);  // npos + 1 is 0
    const std::size_t bracket = host.rfind(']'),
                      port = host.find(':', bracket == std::string::npos ? 0 : bracket);
    return {lowered(address.substr(0, colon)), lowered(host.substr(0, port)), address.substr(0, end)};
}

/// FFmpeg's functions for reading, found in the FFmpeg that OpenCV has loaded.
class Avio {
public:
    Avio() {
        find(m_open, "avio_open2");
        find(m_read, "avio_read");
        find(m_close, "avio_closep");
        find(m_get, "av_opt_get");
        find(m_free, "av_free");
        void (*setLogLevel)(int) = nullptr;
        find(setLogLevel, "av_log_set_level");
        constexpr int kQuiet = -8;  // as CaptureSource has it: messages may quote the address
        const char* wanted = std::getenv("OPENCV_FFMPEG_LOGLEVEL");
        if (setLogLevel && wanted && std::atoi(wanted) == kQuiet) setLogLevel(kQuiet);
    }
    bool found() const { return m_open && m_read && m_close && m_get && m_free; }

    std::string read(const std::string& address, std::chrono::steady_clock::time_point until,
                     std::string& finally) const {
        struct Interrupt {
            int (*isOver)(void*);
            void* until;
        } const interrupt{[](void* time) {
                              const auto end = *static_cast<std::chrono::steady_clock::time_point*>(time);
                              return std::chrono::steady_clock::now() > end ? 1 : 0;
                          },
                          &until};
        void* input = nullptr;
        std::string text;
        if (m_open(&input, address.c_str(), kRead, &interrupt, nullptr) < 0) return text;
        unsigned char* location = nullptr;
        constexpr int kChildrenToo = 1;
        if (m_get(input, "location", kChildrenToo, &location) >= 0 && location != nullptr && *location != 0)
            finally = reinterpret_cast<const char*>(location);
        m_free(location);
        unsigned char bytes[4096];
        for (int count = 0; text.size() < kLargest && (count = m_read(input, bytes, sizeof bytes)) > 0;)
            text.append(bytes, bytes + count);
        m_close(&input);
        return text;
    }

private:
    static constexpr int kRead = 1;
    template <class Function>
    static void find(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    }
    int (*m_open)(void**, const char*, int, const void*, void**) = nullptr;
    int (*m_read)(void*, unsigned char*, int) = nullptr;
    int (*m_close)(void**) = nullptr;
    int (*m_get)(void*, const char*, int, unsigned char**) = nullptr;
    void (*m_free)(void*) = nullptr;
};

}  // namespace

bool namesPlaylist(const std::string& address) {
    return split(address).http() && lowered(address).find(".m3u") != std::string::npos;
}

PlaylistParts partsOfPlaylist(const std::string& text) {
    PlaylistParts parts;
    std::istringstream lines(text);
    bool variant = false;
    for (std::string line; std::getline(lines, line);) {
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
            line.pop_back();
        const bool tag = !line.empty() && line[0] == '#';
        const bool media = line.rfind("#EXT-X-MEDIA:", 0) == 0;
        for (std::size_t at = 0; tag && (at = line.find("URI=", at)) != std::string::npos;) {
            at += 4;
            const bool quoted = at < line.size() && line[at] == '"';
            const std::size_t begin = at + (quoted ? 1 : 0), end = line.find(quoted ? '"' : ',', begin);
            (media ? parts.playlists : parts.others).push_back(line.substr(begin, end - begin));
        }
        if (!tag && !line.empty()) (variant ? parts.playlists : parts.others).push_back(line);
        if (tag) variant = variant || line.rfind("#EXT-X-STREAM-INF:", 0) == 0;
        if (!tag && !line.empty()) variant = false;
    }
    return parts;
}

std::string addressOnSameHost(const std::string& base, const std::string& part) {
    const Split from = split(base);
    if (!from.http()) return {};
    std::string address = part;
    const std::size_t first = part.find_first_of("/?#");
    const bool hasScheme = part.find(':') < first;  // file:, data:, concat:, subfile:
    if (part.rfind("//", 0) == 0)
        address = from.scheme + ":" + part;
    else if (part.rfind('/', 0) == 0)
        address = from.root + part;
    else if (!hasScheme) {
        const std::string path = base.substr(0, std::min(base.find_first_of("?#"), base.size()));
        const std::size_t slash = path.rfind('/');
        address = (slash < from.root.size() ? from.root + "/" : path.substr(0, slash + 1)) + part;
    }
    const Split to = split(address);
    return to.http() && to.host == from.host ? address : std::string();
}

bool staysOnItsHost(const std::string& playlist, const Fetch& fetch) {
    std::vector<std::string> open{playlist};
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (i == kMostPlaylists) return false;
        std::string place = open[i];
        const std::string text = fetch(open[i], place);
        const PlaylistParts parts = partsOfPlaylist(text);
        if (text.size() >= kLargest || addressOnSameHost(playlist, place).empty()) return false;
        for (const std::string& part : parts.others)
            if (addressOnSameHost(place, part).empty()) return false;
        for (const std::string& part : parts.playlists) {
            const std::string address = addressOnSameHost(place, part);
            if (address.empty()) return false;
            if (std::find(open.begin(), open.end(), address) == open.end()) open.push_back(address);
        }
    }
    return true;
}

bool staysOnItsHost(const std::string& playlist, std::chrono::milliseconds time) {
    const Avio avio;
    if (!avio.found()) return true;
    const auto until = std::chrono::steady_clock::now() + time;
    return staysOnItsHost(playlist, [&](const std::string& address, std::string& finally) {
        return avio.read(address, until, finally);
    });
}

}  // namespace mpm::pipeline
