// Reads images of unknown origin.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <opencv2/core.hpp>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

/// The default memory limit. Allows 150 million pixels (350 million in a PNG) if images are read as BGR.
inline constexpr std::int64_t kDefaultImageBytes = std::int64_t{2} << 30;

/// Sets the memory limit for each image or frame in this process; 0: the default. Used for --max-memory.
void setMaxImageBytes(std::int64_t bytes);
std::int64_t maxImageBytes();

/// Thrown if an image cannot be read. The message gives the reason, but not the name of the file.
class ImageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws ImageError, with the size and the limit, if an image or frame needs more memory than allowed.
void checkImageSize(std::int64_t width, std::int64_t height, std::int64_t bytesOfPixel);

/// Decodes the bytes of a file, after checking size and completeness. `flags`: as in cv::imdecode. Throws
/// ImageError.
cv::Mat decodeImage(const FileBytes& file, int flags);

/// Reads the image in a regular file, with the checks of decodeImage().
cv::Mat readImage(const std::string& path, int flags);

}  // namespace mpm::pipeline
