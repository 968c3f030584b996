// Reads images from files of unknown origin.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <opencv2/core.hpp>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

/// Enough for images of 100 million pixels in any format, and of 350 million in most.
inline constexpr std::int64_t kDefaultImageBytes = std::int64_t{2} << 30;

/// Sets the limit of memory for an image or a frame in this process: --max-memory of the programs.
void setMaxImageBytes(std::int64_t bytes);
std::int64_t maxImageBytes();

/// Thrown if an image cannot be read. The message has the reason, but not the name of the file.
class ImageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws ImageError, naming budget and value, if an image or frame of this size is not allowed.
void checkImageSize(std::int64_t width, std::int64_t height, std::int64_t bytesOfPixel);

/// Decodes the bytes of a file; `flags` as in cv::imdecode. First checks size and completeness. Throws
/// ImageError.
cv::Mat decodeImage(const FileBytes& file, int flags);

/// Reads the image in a regular file, with the same checks.
cv::Mat readImage(const std::string& path, int flags);

}  // namespace mpm::pipeline
