// Calls mpm::modelInfo for a file with the fuzz input, and preprocesses an image as the metadata describes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#include <mpm/mpm.hpp>

namespace {

/// A file in memory, with a path in /proc that any reader can open.
class MemoryFile {
public:
    MemoryFile(const std::uint8_t* data, std::size_t size) : m_file(memfd_create("model", MFD_CLOEXEC)) {
        if (m_file < 0 || write(m_file, data, size) != static_cast<ssize_t>(size)) std::abort();
    }
    ~MemoryFile() { close(m_file); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(m_file); }

private:
    int m_file;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const MemoryFile file(data, size);
    const cv::Mat image(5, 7, CV_8UC3, cv::Scalar(1, 2, 3));
    try {
        const mpm::ModelInfo info = mpm::modelInfo(file.path());
        // Larger sizes are valid, but would take long.
        if (static_cast<std::int64_t>(info.size.height) * info.size.width > 1 << 20) return 0;
        const cv::Mat blob = mpm::blobFromImage(image, info);
        if (blob.size[2] != info.size.height || blob.size[3] != info.size.width) std::abort();
    } catch (const cv::Exception& e) {
        if (e.err.size() > 2000) std::abort();
    }
    return 0;
}
