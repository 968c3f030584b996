// Images from files of unknown origin.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <opencv2/core.hpp>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

/// Enough for images of 100 million pixels in any format, and of 350 million in most.
inline constexpr std::int64_t kDefaultImageBytes = std::int64_t{2} << 30;

/// How much memory an image or a frame may need from here on, in this process; --max-memory of the programs.
void setMaxImageBytes(std::int64_t bytes);
std::int64_t maxImageBytes();

/// Why an image was not read; the message does not name the file.
class ImageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws ImageError, naming budget and value, if an image or frame of this size is not allowed.
void checkImageSize(std::int64_t width, std::int64_t height, std::int64_t bytesOfPixel);

/// Decodes these bytes; `flags` as of cv::imdecode. Size and completeness are checked before anything is
/// decoded. Throws ImageError.
cv::Mat decodeImage(const FileBytes& file, int flags);

/// The image in a regular file, with the same checks.
cv::Mat readImage(const std::string& path, int flags);

}  // namespace mpm::pipeline
