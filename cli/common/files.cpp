#include "cli/common/files.hpp"

#include <filesystem>

#include <opencv2/imgcodecs.hpp>

#include "base/private_files.hpp"
#include "cli/common/error.hpp"

namespace mpm::cli {

namespace {

/// Runs `work` and gives errors an exit status.
template <class Work>
void withStatus(const Work& work) {
    try {
        work();
    } catch (const cv::Exception& error) {
        throw Error(error.code == cv::Error::StsBadArg ? kWrongUse : kFailed, error.err);
    }
}

}  // namespace

void checkWritable(const std::string& path) {
    withStatus([&] { PendingFile file(path, Access::Umask); });
}

void writeBytes(const std::string& path, std::string_view bytes, Sync sync) {
    withStatus([&] {
        PendingFile file(path, Access::Umask);
        file.write(bytes);
        file.keep(sync);
    });
}

void writeText(const std::string& path, const std::string& text) {
    writeBytes(path, text);
}

void writeImage(const std::string& path, const cv::Mat& image) {
    std::vector<uchar> bytes;
    if (!cv::imencode(std::filesystem::path(path).extension().string(), image, bytes))
        throw Error(kFailed, path + ": the image cannot be encoded");
    // Waiting for the disk at each of thousands of images would take longer than the images.
    writeBytes(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Sync::Replacing);
}

void makeFolder(const std::string& path) {
    try {
        makeFolders(path, Access::Umask);
    } catch (const cv::Exception& error) {
        throw Error(kFailed, error.err + "; choose another");
    }
}

}  // namespace mpm::cli
