#include "pipeline/image/read.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <opencv2/imgcodecs.hpp>

#include "base/checked.hpp"
#include "base/read_file.hpp"
#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kMostScans = 100;      // limit for an image; progressive images usually have ten
constexpr int kMostDeflated = 1032;  // largest compression ratio of a PNG
constexpr const char* kUnknown =
    "not an image that can be read (missing, damaged, or no JPEG, PNG, PNM, BMP, TIFF or WebP)";
constexpr const char* kCutOff = "damaged, the image is cut off before its end";

std::atomic<std::int64_t> g_maxBytes{kDefaultImageBytes};

/// Returns the bytes of memory for a pixel: the result, a rotated copy, and the decoder's own memory.
std::int64_t bytesOfPixel(const ImageHeader& header, int flags) {
    const bool asIs = flags == cv::IMREAD_UNCHANGED;
    const std::int64_t result = asIs ? std::int64_t{header.channels} * header.depth : 3;
    return 2 * result + std::int64_t{header.channels} * header.extraDepth;
}

/// Throws ImageError if the image is damaged. Returns true if only the end marker is missing.
bool checkJpeg(const FileBytes& file) {
    const auto segments = jpegSegments(file);
    if (!segments || segments->scans > kMostScans) throw ImageError(kUnknown);
    if (isCutOffJpeg(file, *segments)) throw ImageError(kCutOff);
    return !segments->ends;
}

void checkPng(const FileBytes& file, const ImageHeader& header) {
    const int samples = file.at(25) == 3 ? 1 : header.channels;  // with a palette, a pixel has one sample
    const std::int64_t bits = std::int64_t{samples} * file.at(24);
    std::int64_t raw = 0;
    if (!productFits(raw, header.width, header.height, bits) ||
        raw / 8 / kMostDeflated > static_cast<std::int64_t>(file.size))
        throw ImageError(kCutOff);
}

cv::Mat decoded(const FileBytes& file, int flags) {
    cv::Mat image;
    try {
        const cv::Mat bytes(1, checkedCast<int>(file.size), CV_8U, const_cast<unsigned char*>(file.data));
        image = cv::imdecode(bytes, flags);
    } catch (const cv::Exception& error) {
        if (error.code == cv::Error::StsNoMem) throw;
        image.release();  // the empty image is reported below
    }
    if (image.empty()) throw ImageError(kUnknown);
    return image;
}

std::string whyNotRead(const std::string& path) {
    if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
        return "permission denied";
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return kUnknown;
    if (!std::filesystem::is_regular_file(path, error)) return "not a regular file; name an image";
    return "a file of more bytes than allowed (--max-memory " + std::to_string(maxImageBytes()) +
           " bytes); raise --max-memory if it is yours";
}

}  // namespace

void setMaxImageBytes(std::int64_t bytes) {
    g_maxBytes = bytes > 0 ? bytes : kDefaultImageBytes;
}

std::int64_t maxImageBytes() {
    return g_maxBytes;
}

void checkImageSize(std::int64_t width, std::int64_t height, std::int64_t bytesOfPixel) {
    std::int64_t bytes = 0;
    const std::int64_t most = maxImageBytes();
    if (productFits(bytes, width, height, bytesOfPixel) && bytes <= most) return;
    throw ImageError("an image of " + std::to_string(width) + "x" + std::to_string(height) +
                     " pixels needs more memory than allowed (--max-memory " + std::to_string(most) +
                     " bytes); raise --max-memory if the file is yours");
}

cv::Mat decodeImage(const FileBytes& file, int flags) {
    const auto header = imageHeader(file);
    if (!header) throw ImageError(kUnknown);
    checkImageSize(header->width, header->height, bytesOfPixel(*header, flags));
    if (header->format == ImageFormat::Png) checkPng(file, *header);
    if (header->format == ImageFormat::Jpeg && checkJpeg(file)) {
        // Adds an end marker, because without an end marker the decoder prints a warning.
        std::vector<unsigned char> ended(file.data, file.data + file.size);
        ended.insert(ended.end(), {0xff, 0xd9});
        return decoded({ended.data(), ended.size()}, flags);
    }
    return decoded(file, flags);
}

cv::Mat readImage(const std::string& path, int flags) {
    std::string bytes;
    try {
        bytes = readRegularFile(path, static_cast<std::uint64_t>(maxImageBytes()));
    } catch (const cv::Exception&) {
        throw ImageError(whyNotRead(path));
    }
    return decodeImage({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, flags);
}

}  // namespace mpm::pipeline
