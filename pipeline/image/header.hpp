// Reads the size of an image from the bytes of the file, without decoding.
#pragma once

#include <cstdint>
#include <optional>

namespace mpm::pipeline {

/// The bytes of a file, which the caller owns. Reading past the end gives zeros.
struct FileBytes {
    const unsigned char* data = nullptr;
    std::size_t size = 0;

    unsigned char at(std::size_t i) const { return i < size ? data[i] : 0; }
    std::uint32_t big(std::size_t i, int bytes) const;     ///< most significant byte first
    std::uint32_t little(std::size_t i, int bytes) const;  ///< least significant byte first
    bool begins(const char* text, std::size_t length, std::size_t from = 0) const;
};

enum class ImageFormat { Jpeg, Png, Bmp, Tiff, WebP, Pnm };

struct ImageHeader {
    ImageFormat format = ImageFormat::Jpeg;
    std::int64_t width = 0, height = 0;
    int channels = 3;
    int depth = 1;       ///< bytes of a channel
    int extraDepth = 0;  ///< further bytes that the decoder needs for each channel of a pixel
};

/// Reads the header of an image. Returns nothing if the format is unknown or the size is missing.
std::optional<ImageHeader> imageHeader(const FileBytes& file);

/// Reads the header of a TIFF or WebP image.
std::optional<ImageHeader> containerHeader(const FileBytes& file);

struct JpegSegments {
    ImageHeader header;
    bool ends = false;        ///< whether there is an end marker; other bytes may follow it
    bool arithmetic = false;  ///< whether the coding is arithmetic: a block may take less than a bit
    int scans = 0;
};

/// Reads the segments of a JPEG file. Returns nothing if there is no frame header.
std::optional<JpegSegments> jpegSegments(const FileBytes& file);

/// Returns whether the file ends in the middle of the image; false if only the end marker is missing. Without
/// this check, libjpeg would fill the missing part with grey and report no error. May decode the image at an
/// eighth of the size.
bool isCutOffJpeg(const FileBytes& file, const JpegSegments& segments);

}  // namespace mpm::pipeline
