#include "pipeline/source/jpeg.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

namespace mpm::pipeline {

namespace {

using Bytes = std::vector<uchar>;

constexpr uchar kMark = 0xff, kStart = 0xd8, kEnd = 0xd9;

/// Markers without a length of their own: restarts and fillers, and the stuffed zero inside a scan.
bool standsAlone(uchar kind) {
    return kind == 0 || kind == 1 || kind == kMark || (kind >= 0xd0 && kind <= 0xd7);
}

/// Whether the end marker is there, whatever follows it. Segments are stepped over by their length: a preview
/// in one of them has an end of its own.
bool hasEnd(const Bytes& file) {
    size_t at = 2;
    while (at + 1 < file.size()) {
        const uchar kind = file[at + 1];
        if (file[at] != kMark || standsAlone(kind)) {
            at += file[at] == kMark && kind != kMark ? 2 : 1;
            continue;
        }
        if (kind == kEnd) return true;
        if (at + 3 >= file.size()) return false;
        at += 2 + static_cast<size_t>(file[at + 2]) * 256 + file[at + 3];
    }
    return false;
}

/// libjpeg prints what it thinks of a file to standard error; what is wrong is said once, by the caller.
class Hush {
public:
    Hush() : m_kept(dup(STDERR_FILENO)) {
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (m_kept >= 0 && nowhere >= 0) dup2(nowhere, STDERR_FILENO);
        if (nowhere >= 0) close(nowhere);
    }
    ~Hush() {
        if (m_kept < 0) return;
        dup2(m_kept, STDERR_FILENO);
        close(m_kept);
    }
    Hush(const Hush&) = delete;
    Hush& operator=(const Hush&) = delete;

private:
    int m_kept;
};

cv::Mat decoded(Bytes file, const Bytes& more) {
    file.insert(file.end(), more.begin(), more.end());
    file.insert(file.end(), {kMark, kEnd});
    try {
        return cv::imdecode(file, cv::IMREAD_COLOR);
    } catch (const cv::Exception&) {
        return {};
    }
}

}  // namespace

bool isCutOffJpeg(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (stream.get() != kMark || stream.get() != kStart) return false;
    stream.seekg(0);
    Bytes file{std::istreambuf_iterator<char>(stream), {}};
    if (hasEnd(file)) return false;
    if (file.back() == kMark) file.pop_back();
    const Hush hush;
    // A whole picture takes no notice of more data behind it; where pixels are missing, it becomes them.
    const cv::Mat one = decoded(file, Bytes(256, 0x55)), other = decoded(file, Bytes(256, 0xa6));
    return one.empty() || one.size() != other.size() || cv::norm(one, other, cv::NORM_INF) > 0;
}

}  // namespace mpm::pipeline
